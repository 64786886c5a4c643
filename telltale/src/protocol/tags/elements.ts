import type { ActionIntent, Place } from '../intents.ts';
import type { ElementName } from './tag-names.ts';

interface FrameBase {
  /** The index of the next element of the same name further out, -1 if none: no closing tag has to search. */
  readonly outerSame: number;
  readonly outerPlace: Place;
}

export type Frame = FrameBase &
  (
    | { readonly name: 'thought' | 'response' }
    | { readonly name: 'if'; readonly test: string; inElse: boolean }
    | {
        readonly name: 'foreach';
        readonly list: string;
        readonly as: string;
        readonly actions: ActionIntent[];
      }
    | { readonly name: 'parallel'; readonly id: string | undefined }
  );

/** What is open, innermost last. */
export interface Elements {
  readonly stack: readonly Frame[];
  readonly place: Place;
  /** How many thoughts are open. */
  readonly thoughts: number;
  readonly innermost: ElementName | undefined;
  /** The index of the thought or response that prose here belongs to, -1 outside. */
  readonly speech: number;
  /** The open `<foreach>`, if any; it cannot hold another. */
  readonly foreach: Extract<Frame, { name: 'foreach' }> | undefined;
  readonly inParallel: boolean;
  /**
   * The index of the innermost open element of this name that a tag here can reach, else -1: from inside a
   * response nothing outside it can be reached.
   */
  find(name: ElementName): number;
  open(frame: OpenFrame): void;
  pop(): Frame | undefined;
}

export type OpenFrame = Frame extends infer F ? (F extends Frame ? Omit<F, keyof FrameBase> : never) : never;

export function createElements(): Elements {
  const stack: Frame[] = [];
  const last: Record<ElementName, number> = { thought: -1, response: -1, if: -1, foreach: -1, parallel: -1 };
  let place: Place = 'outside';
  let thoughts = 0;

  return {
    stack,
    get place() {
      return place;
    },
    get thoughts() {
      return thoughts;
    },
    get innermost() {
      // An index of -1 would be looked up as a name, forty times slower.
      return stack.length > 0 ? stack[stack.length - 1]?.name : undefined;
    },
    get speech() {
      return Math.max(last.thought, last.response);
    },
    get foreach() {
      const frame = last.foreach < 0 ? undefined : stack[last.foreach];
      return frame?.name === 'foreach' ? frame : undefined;
    },
    get inParallel() {
      return last.parallel >= 0;
    },
    find(name) {
      const index = last[name];
      return index >= last.response ? index : -1;
    },
    open(frame) {
      stack.push({ ...frame, outerSame: last[frame.name], outerPlace: place } as Frame);
      last[frame.name] = stack.length - 1;
      if (frame.name === 'thought') thoughts++;
      if (frame.name === 'thought' || frame.name === 'response') place = frame.name;
    },
    pop() {
      const frame = stack.pop();
      if (frame === undefined) return undefined;
      last[frame.name] = frame.outerSame;
      place = frame.outerPlace;
      if (frame.name === 'thought') thoughts--;
      return frame;
    },
  };
}
