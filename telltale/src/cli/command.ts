import type { Command } from 'commander';
import type { ExitCode } from './exit-code.ts';
import type { Io } from './io.ts';
import type { RuntimePort } from './runtime-port.ts';

/** What a command gets from the frame. */
export interface CommandContext {
  readonly io: Io;
  readonly runtimes: RuntimePort;
  /**
   * Makes a commander action of a function that returns the exit code:
   * `.action(context.run(async (file: string, options: Options) => EXIT.ok))`.
   */
  run<Args extends readonly unknown[]>(
    action: (...args: Args) => Promise<ExitCode>,
  ): (...args: unknown[]) => Promise<void>;
  /** For a command that goes on until it is told to stop: having been stopped is its success. */
  endsWhenStopped(): void;
}

/**
 * Adds one command to the program. Called on every start, so what is heavy is imported inside the action.
 * An action throws a RuntimeError for what stops it: `main` prints it in three lines (or as JSON) and ends with 1.
 */
export type RegisterCommand = (program: Command, context: CommandContext) => void;
