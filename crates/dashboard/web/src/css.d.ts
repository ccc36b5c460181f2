// Style sheets are bundled by esbuild; to the type checker they are imports without a value.
declare module "*.css";
