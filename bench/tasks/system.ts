import type { World } from './world.ts';

/** A framework with the assistant set up in it, as its documentation says. */
export interface OpenSystem {
  /** Runs one session to its end, and returns its answer. Every tool call goes to `world.call`. */
  run(question: string, world: World): Promise<string>;
  close(): Promise<void>;
}

/** One system, run in a process of its own. */
export interface System {
  readonly name: string;
  readonly manner: 'native' | 'tags' | 'tools';
  /** `folder` is empty and may be written to. */
  open(url: string, folder: string): Promise<OpenSystem>;
}
