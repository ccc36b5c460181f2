// Lines of one height, of which only those near the window are drawn. It stays at the end while it is followed.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useRoom } from "./room.ts";

const LINE_PX = 20;
const SPARE = 20;

interface Props<T> {
  label: string;
  items: T[];
  line: (item: T, index: number) => ComponentChildren;
  isFollowing: boolean;
  /** Scrolling away from the end stops following, and back to it starts again. */
  onFollow: (isFollowing: boolean) => void;
  /** How high it is, in CSS. */
  height: string;
}

export function Lines<T>({ label, items, line, isFollowing, onFollow, height }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const room = useRoom(box);
  useLayoutEffect(() => {
    const element = box.current;
    if (isFollowing && element) {
      element.scrollTop = element.scrollHeight;
      setTop(element.scrollTop);
    }
  }, [items.length, items[items.length - 1], isFollowing, room]);
  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    setTop(element.scrollTop);
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - LINE_PX;
    if (isAtEnd !== isFollowing) onFollow(isAtEnd);
  };
  const from = Math.max(0, Math.floor(top / LINE_PX) - SPARE);
  const to = Math.min(items.length, Math.ceil((top + room) / LINE_PX) + SPARE);
  return (
    <div ref={box} class="lines" style={{ blockSize: height }} role="log" aria-live="off" aria-label={label} tabIndex={0} onScroll={scrolled}>
      <div class="lines-in" style={{ paddingBlockStart: `${from * LINE_PX}px`, blockSize: `${items.length * LINE_PX}px` }}>
        {items.slice(from, to).map((item, index) => (
          <div key={from + index} class="line">
            {line(item, from + index)}
          </div>
        ))}
      </div>
    </div>
  );
}
