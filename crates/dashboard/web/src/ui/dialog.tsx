// Questions before what cannot be taken back.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Question {
  title: string;
  text: string;
  /** What the button that goes on says. */
  yes: string;
  answer: (isYes: boolean) => void;
}

const question = signal<Question | null>(null);

/** Asks, and answers whether to go on. */
export function confirm(title: string, text: string, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      title,
      text,
      yes,
      answer: (isYes) => {
        question.value = null;
        resolve(isYes);
      },
    };
  });
}

export function Confirm() {
  const one = question.value;
  if (!one) return null;
  return (
    <Dialog title={one.title} onClose={() => one.answer(false)}>
      <p>{one.text}</p>
      <div class="buttons">
        <button type="button" class="button" onClick={() => one.answer(false)}>
          Cancel
        </button>
        <button type="button" class="button primary" onClick={() => one.answer(true)}>
          {one.yes}
        </button>
      </div>
    </Dialog>
  );
}

/** The browser's own dialog: it keeps the focus, and Escape closes it. */
export function Dialog({ title, onClose, look = "", children }: { title: string; onClose: () => void; look?: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${look}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class="in">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
