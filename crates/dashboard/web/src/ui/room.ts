// How high an element is, as it changes.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useRoom(box: RefObject<HTMLElement | null>): number {
  const [room, setRoom] = useState(600);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setRoom(entry.contentRect.height));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return room;
}
