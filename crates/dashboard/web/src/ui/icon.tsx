// Line drawings on a grid of 16, one path each.

const PATHS = {
  brand: "M2 3h3c3 0 3 5 6 5h3M2 13h3c3 0 3-5 6-5M2 8h12",
  overview: "M2 9h4v5H2zM2 2h4v4H2zM9 2h5v5H9zM9 10h5v4H9z",
  servers: "M2 3h12v4H2zM2 9h12v4H2zM5 5h.01M5 11h.01",
  tools: "M10 2a4 4 0 0 0-3 6L2 13l1 1 5-5a4 4 0 0 0 6-4l-2 2-3-3 2-2z",
  traffic: "M2 5h11M10 2l3 3-3 3M14 11H3M6 8l-3 3 3 3",
  logs: "M3 2h7l3 3v9H3zM5 7h6M5 10h6",
  namespaces: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  config: "M2 4h7M13 4h1M2 8h2M8 8h6M2 12h6M12 12h2M11 2v4M6 6v4M10 10v4",
  clients: "M6 7a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 14c0-6 9-6 9 0M11 2.5a2.5 2.5 0 0 1 0 4.5M12.5 9.5c1.500.5 2 2.500 2 4.500",
  costs: "M2 14h12M4 14V8M8 14V3M12 14v-4",
  recordings: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  find: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3",
  rows: "M2 3h12M2 8h12M2 13h12",
  theme: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 2v12M8 5h4.800M8 8h6M8 11h4.800",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
