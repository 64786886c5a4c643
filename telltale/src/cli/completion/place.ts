/** A command as far as completing needs it. */
export interface KnownCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly KnownOption[];
  /** Names of its arguments, in order; the last one is repeated where it is variadic. */
  readonly arguments: readonly { readonly name: string; readonly isVariadic: boolean }[];
  /** Commands of its own: `workflow run`. */
  readonly commands?: readonly KnownCommand[];
}

export interface KnownOption {
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

/** What stands at the place where Tab was pressed. */
export type Place =
  | { readonly kind: 'command' }
  | { readonly kind: 'subcommand'; readonly command: KnownCommand }
  | { readonly kind: 'option'; readonly command: KnownCommand }
  | { readonly kind: 'value'; readonly command: KnownCommand; readonly option: KnownOption }
  | { readonly kind: 'argument'; readonly command: KnownCommand; readonly name: string }
  | { readonly kind: 'nothing' };

/** Pure. `before` are the words behind the program's name and before the one that is being typed. */
export function placeOf(
  before: readonly string[],
  current: string,
  commands: readonly KnownCommand[],
): Place {
  const [name, ...words] = before;
  if (name === undefined || (name === 'help' && words.length === 0)) return { kind: 'command' };
  const command = commands.find((each) => each.name === name);
  if (command === undefined) return { kind: 'nothing' };
  const own = command.commands ?? [];
  // Options of the group may stand before the name of the command in it.
  const names = new Set(own.map((each) => each.name));
  const called = words.findIndex((word) => names.has(word));
  if (called !== -1) return placeOf(words.slice(called), current, own);
  const optionOf = (word: string) => command.options.find(({ flags }) => flags.includes(word));
  let position = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const option = optionOf(word);
    if (option === undefined) {
      if (!word.startsWith('-') || word === '-') position++;
      continue;
    }
    if (!option.takesValue) continue;
    // bash makes a word of its own of the sign in --store=x.
    if (words[at + 1] === '=') at++;
    if (at + 1 >= words.length) return { kind: 'value', command, option };
    at++;
  }
  if (current.startsWith('-')) return { kind: 'option', command };
  if (own.length > 0 && position === 0) return { kind: 'subcommand', command };
  const argument = command.arguments[position] ?? command.arguments.find(({ isVariadic }) => isVariadic);
  return argument === undefined ? { kind: 'nothing' } : { kind: 'argument', command, name: argument.name };
}
