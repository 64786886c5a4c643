/** What a shell reads as anything but the letters of a word. */
const SPECIAL = /[;&|<>()$`\\*?[\]{}~!#]|\p{Cc}/u;
/** The same between double quotes. */
const SPECIAL_QUOTED = /[$`\\!]|(?!\t)\p{Cc}/u;

/**
 * The words of a command line for sh that is one command with plain arguments; undefined for everything else: a second
 * command, a redirection, a substitution, a wildcard, a variable set in front of it.
 */
export function simpleCommand(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const letter = line.charAt(at);
    if (letter === ' ' || letter === '\t') {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    if (letter !== '"' && letter !== "'") {
      if (SPECIAL.test(letter)) return undefined;
      word = (word ?? '') + letter;
      continue;
    }
    const end = line.indexOf(letter, at + 1);
    if (end === -1) return undefined;
    const quoted = line.slice(at + 1, end);
    if (letter === '"' ? SPECIAL_QUOTED.test(quoted) : /[\0\n\r]/.test(quoted)) return undefined;
    word = (word ?? '') + quoted;
    at = end;
  }
  if (word !== undefined) words.push(word);
  const [program] = words;
  return program === undefined || program === '' || program.includes('=') ? undefined : words;
}

/** What may be commands of their own in a line that is more than one: only good for refusing. */
export const roughCommands = (line: string): readonly (readonly string[])[] =>
  line
    .split(/[;&|<>()$`{}\n\r]+/)
    .map((part) =>
      part
        .replace(/["'\\]/g, '')
        .split(/\s+/)
        .filter((word) => word !== '' && !/^[A-Za-z_]\w*=/.test(word)),
    )
    .filter((words) => words.length > 0);

/**
 * Whether a pattern names a command. Words are compared one by one, `*` in a word stands for any of its characters;
 * a last word that is `*` stands for any further words, and for none.
 */
export function namesCommand(pattern: string, words: readonly string[]): boolean {
  const wanted = pattern.trim().split(/\s+/);
  const isOpen = wanted.at(-1) === '*';
  const own = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? words.length < own.length : words.length !== own.length) return false;
  return own.every((each, at) => namesWord(each, words[at] ?? ''));
}

/** The parts between the stars, in order. */
function namesWord(pattern: string, word: string): boolean {
  const parts = pattern.split('*');
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  if (parts.length === 1) return pattern === word;
  if (word.length < first.length + last.length || !word.startsWith(first) || !word.endsWith(last))
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = word.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= word.length - last.length;
}
