import { RuntimeError } from '../../kernel/runtime-error.ts';
import { type Decision, mayAsk, named, restOf } from '../../manifest/permissions/decide.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { namesCommand, roughCommands, simpleCommand } from './simple-command.ts';

/** Command lines of the tool `shell`, by `permissions.shell`. */
export interface PermittedCommands {
  /** Whether a person may have to be asked. */
  readonly asks: boolean;
  /** Whether every line is allowed without asking. */
  readonly any: boolean;
  /** Throws `not_permitted` for a line that is denied, and for one that has to be asked for and is not among `granted`. */
  check(line: string, granted?: readonly string[]): void;
  /** What an approval of the line has to be for; undefined where none is needed. Throws where it is denied. */
  grantFor(line: string): string | undefined;
}

/** `readsLines` says whether lines are such as `simpleCommand` reads: those for sh are, those for Windows' cmd are not. */
export function createPermittedCommands(rules: Rules, readsLines: boolean): PermittedCommands {
  const [allow, ask, deny] = [named(rules.allow), named(rules.ask), named(rules.deny)];
  const rest = restOf(rules);
  const isListed = allow.length + ask.length + deny.length > 0;

  const judge = (line: string): Decision => {
    if (!isListed) return rest;
    const words = readsLines ? simpleCommand(line) : undefined;
    const parts = words === undefined ? roughCommands(line) : [words];
    const names = (patterns: readonly string[]) =>
      parts.some((part) => patterns.some((pattern) => namesCommand(pattern, part)));
    if (names(deny)) return 'deny';
    // What is more than one plain command is never allowed by a pattern: patterns say nothing of the rest of it.
    if (words === undefined) return rest === 'deny' ? 'deny' : 'ask';
    if (names(ask)) return 'ask';
    return names(allow) ? 'allow' : rest;
  };

  const decided = (line: string): Decision => {
    const decision = judge(line);
    if (decision === 'deny') throw isListed ? commandDenied(line) : shellDenied();
    return decision;
  };

  return {
    any: !isListed && rest === 'allow',
    // A line with more than one command in it is asked for even where no list says `ask`.
    asks: mayAsk(rules) || (isListed && rest !== 'deny'),
    check(line, granted = []) {
      if (decided(line) === 'ask' && !granted.includes(commandGrant(line))) throw commandNotAsked(line);
    },
    grantFor: (line) => (decided(line) === 'ask' ? commandGrant(line) : undefined),
  };
}

const commandGrant = (line: string): string => `shell ${line}`;

const shellDenied = () =>
  new RuntimeError('not_permitted', 'Shell commands are denied to this agent.', {
    hint: 'The agent\'s manifest says "permissions: { shell: deny }"; "ask" or "allow" would permit them.',
  });

const commandDenied = (line: string) =>
  new RuntimeError('not_permitted', `The command "${clip(line, 200)}" is denied to this agent.`, {
    hint: 'The agent\'s manifest says so in "permissions: { shell }".',
  });

const commandNotAsked = (line: string) =>
  new RuntimeError(
    'not_permitted',
    `A person has to approve the command "${clip(line, 200)}", and nobody was asked.`,
    { hint: 'The agent\'s manifest says so in "permissions: { shell }".' },
  );
