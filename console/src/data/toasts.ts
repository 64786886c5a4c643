import { createStore, type Readable } from './readable.ts';

export interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'info' | 'failed';
  readonly text: string;
  /** The page that shows it. */
  readonly path?: string;
}

/** Short messages about what the user just did. They are announced, and disappear on their own. */
export interface Toasts extends Readable<readonly Toast[]> {
  readonly say: (kind: Toast['kind'], text: string, path?: string) => void;
  readonly dismiss: (id: number) => void;
  /** Removes the toasts that link to a path, because the matter is over. */
  readonly takeBack: (path: string) => void;
}

const MAX_TOASTS = 4;
const STAYS_MS = 6_000;
/** Failures stay long enough to be read twice. */
const FAILURE_STAYS_MS = 15_000;

export function createToasts(): Toasts {
  const toasts = createStore<readonly Toast[]>([]);
  let last = 0;
  const dismiss = (id: number) => toasts.set(toasts.get().filter((toast) => toast.id !== id));
  return {
    get: toasts.get,
    subscribe: toasts.subscribe,
    dismiss,
    takeBack: (path) => toasts.set(toasts.get().filter((toast) => toast.path !== path)),
    say(kind, text, path) {
      const id = ++last;
      toasts.set(
        [...toasts.get(), { id, kind, text, ...(path === undefined ? {} : { path }) }].slice(-MAX_TOASTS),
      );
      setTimeout(() => dismiss(id), kind === 'failed' ? FAILURE_STAYS_MS : STAYS_MS);
    },
  };
}
