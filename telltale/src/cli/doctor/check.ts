import type { Sandbox } from '../../targets/process/find-sandbox.ts';
import type { CommandContext } from '../command.ts';

/** What a check found. `warn`: something cannot be used that need not be there. */
export interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** The command, or what else to do, that mends it. */
  readonly fix?: string;
}

/** What checks may ask of the machine. Tests pass one of their own. */
export interface Machine {
  readonly platform: string;
  readonly node: { readonly version: string; readonly path: string };
  readonly temporaryFolder: string;
  /** Where a program is, by names or absolute paths, the first that is there; undefined if none is. */
  findProgram(names: readonly string[]): string | undefined;
  /** The first line that a program prints; undefined if it fails or takes longer than a few seconds. */
  ask(program: string, args: readonly string[]): Promise<string | undefined>;
  /** The sandbox that commands get, as a runtime finds it; absent where there can be none. */
  readonly sandbox?: () => Promise<Sandbox>;
  /** Whether a package can be imported by the runtime. */
  hasPackage(name: string): boolean;
  /** The status of an answer from there; undefined if there is none in time. */
  reach(url: string, timeoutMs: number): Promise<number | undefined>;
}

export interface CheckContext extends Pick<CommandContext, 'io' | 'runtimes'> {
  readonly machine: Machine;
  /** Asks providers also where no key is set. */
  readonly online: boolean;
}

export type Check = (context: CheckContext) => Promise<readonly Finding[]>;
