// What elements are made with.
export { Fragment, h } from "preact";
