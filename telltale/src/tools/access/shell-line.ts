/** A word of a command line, as the shell would pass it on. */
export interface ShellWord {
  /** Without its quotes. If it is not `known`, whatever remains of the source text. */
  readonly text: string;
  /**
   * Whether the shell passes on exactly this text, because it contains no variable, substitution, wildcard, brace or
   * tilde.
   */
  readonly isLiteral: boolean;
}

/** One command of a line. */
export interface ShellCommand {
  /** The program and its arguments. Empty if the command only sets variables or redirects. */
  readonly words: readonly ShellWord[];
  /** Names of the variables assigned before the program. */
  readonly variables: readonly string[];
  /** Files it reads with `<`. */
  readonly inputs: readonly ShellWord[];
  /** Files it writes with `>`, `>>` and the like. */
  readonly outputs: readonly ShellWord[];
}

export interface ShellLine {
  readonly commands: readonly ShellCommand[];
  /** Constructs this parser does not follow. If there are any, the line may run commands that are not in `commands`. */
  readonly unparsed: readonly string[];
}

const RESERVED: ReadonlySet<string> = new Set(
  'if then else elif fi while until do done for case esac in select function coproc ! { } [['.split(' '),
);
/** Reserved words after which the following words are not a command. */
const OTHER_SYNTAX: ReadonlySet<string> = new Set(['for', 'case', 'select', 'function', 'coproc', '[[']);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=/;
const REDIRECTION = /^(?:&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)/;

/**
 * Parses an sh line or script into a list of commands. It follows lists, pipes, subshells, quotes and redirections.
 * Constructs it does not follow (substitutions, functions, here-documents) are listed in `unread`, and the inside of a
 * substitution is parsed as separate commands. Never allow something because of a result that has `unread` entries.
 */
export function parseShellLine(line: string): ShellLine {
  return new ShellLineParser(line).read();
}

/** Some shells treat these as a space, others as part of a word. */
const CONTROL = /(?![\t\n])\p{Cc}/u;

const MAX_NESTED = 8;

class ShellLineParser {
  readonly #line: string;
  readonly #nesting: number;
  readonly #commands: ShellCommand[] = [];
  readonly #unparsed = new Set<string>();
  #at = 0;
  #words: ShellWord[] = [];
  #variables: string[] = [];
  #inputs: ShellWord[] = [];
  #outputs: ShellWord[] = [];

  constructor(line: string, nested = 0) {
    this.#line = line;
    this.#nesting = nested;
  }

  read(): ShellLine {
    const line = this.#line;
    if (CONTROL.test(line)) this.#unparsed.add('a control character');
    while (this.#at < line.length) {
      const rest = line.slice(this.#at, this.#at + 3);
      const letter = line.charAt(this.#at);
      const redirection = REDIRECTION.exec(rest)?.[0];
      if (letter === ' ' || letter === '\t') this.#at++;
      else if (rest.startsWith('\\\n')) this.#at += 2;
      else if (redirection !== undefined && !/^[<>]\(/.test(rest)) this.#redirect(redirection);
      else if (/[;&|()\n\r]/.test(letter)) {
        if (letter === '(' && this.#words.length > 0) this.#unparsed.add('a function');
        this.#at++;
        this.#endCommand();
      } else if (letter === '#') this.#skipComment();
      else this.#addWord(this.#word());
    }
    this.#endCommand();
    return { commands: this.#commands, unparsed: [...this.#unparsed] };
  }

  #addWord(word: ShellWord): void {
    const { text } = word;
    if (this.#words.length === 0 && RESERVED.has(text)) {
      if (OTHER_SYNTAX.has(text)) this.#unparsed.add(`"${text}"`);
      return;
    }
    const assigned = this.#words.length === 0 ? ASSIGNMENT.exec(text)?.[0] : undefined;
    if (assigned === undefined) this.#words.push(word);
    else this.#variables.push(assigned.replace(/\W.*$/, ''));
  }

  #redirect(operator: string): void {
    this.#at += operator.length;
    // A number directly before the operator is a file descriptor.
    const last = this.#words.at(-1);
    const before = this.#line.charAt(this.#at - operator.length - 1);
    if (last !== undefined && /^\d+$/.test(last.text) && /\d/.test(before)) this.#words.pop();
    if (operator.startsWith('<<')) {
      this.#unparsed.add('a here-document');
      return;
    }
    while (/[ \t]/.test(this.#line.charAt(this.#at))) this.#at++;
    if (this.#at >= this.#line.length || /[;&|()<>\n\r]/.test(this.#line.charAt(this.#at))) {
      this.#unparsed.add('a redirection without a file');
      return;
    }
    const word = this.#word();
    if (operator.endsWith('&') && /^(?:\d+-?|-)$/.test(word.text)) return;
    if (operator.startsWith('<')) this.#inputs.push(word);
    if (operator !== '<' && operator !== '<&') this.#outputs.push(word);
  }

  #endCommand(): void {
    const [words, variables, inputs, outputs] = [this.#words, this.#variables, this.#inputs, this.#outputs];
    if (words.length + variables.length + inputs.length + outputs.length > 0)
      this.#commands.push({ words, variables, inputs, outputs });
    this.#words = [];
    this.#variables = [];
    this.#inputs = [];
    this.#outputs = [];
  }

  #skipComment(): void {
    const end = this.#line.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#line.length : end;
  }

  #word(): ShellWord {
    const line = this.#line;
    const start = this.#at;
    let text = '';
    let known = true;
    while (this.#at < line.length) {
      const letter = line.charAt(this.#at);
      if (/[ \t;&|\n\r)]/.test(letter)) break;
      if (letter === '(') {
        if (!/[<>$=@?*+!]/.test(line.charAt(this.#at - 1)) || this.#at === start) break;
        known = false;
        this.#substitution();
        continue;
      }
      if (letter === '<' || letter === '>') {
        if (line.charAt(this.#at + 1) !== '(') break;
        known = false;
        this.#at++;
        continue;
      }
      this.#at++;
      if (letter === '\\') {
        const escaped = line.charAt(this.#at++);
        if (escaped !== '\n') text += escaped; // otherwise the line continues
      } else if (letter === "'") text += this.#readUntil("'");
      else if (letter === '"') {
        const quoted = this.#doubleQuoted();
        text += quoted.text;
        known &&= quoted.isLiteral;
      } else if (letter === '`') {
        known = false;
        this.#parseNested(this.#readUntil('`'));
      } else {
        if (/[$*?[\]{}~!^]/.test(letter)) known &&= isPlainLetter(letter, line, this.#at, start);
        if (letter === '$' && line.charAt(this.#at) === '{') this.#unparsed.add('a variable');
        text += letter;
      }
    }
    if (this.#at === start) this.#at++; // an unmatched bracket: always make progress
    return { text, isLiteral: known };
  }

  #doubleQuoted(): ShellWord {
    const line = this.#line;
    let text = '';
    let known = true;
    while (this.#at < line.length && line.charAt(this.#at) !== '"') {
      const letter = line.charAt(this.#at++);
      if (letter === '\\' && /[$`"\\\n]/.test(line.charAt(this.#at))) {
        const escaped = line.charAt(this.#at++);
        if (escaped !== '\n') text += escaped;
      } else if (letter === '`') {
        known = false;
        this.#parseNested(this.#readUntil('`'));
      } else if (letter === '$' && line.charAt(this.#at) === '(') {
        known = false;
        this.#substitution();
      } else {
        if (letter === '$' || letter === '!') known = false;
        text += letter;
      }
    }
    if (this.#at >= line.length) this.#unparsed.add('a quote without its end');
    this.#at++;
    return { text, isLiteral: known };
  }

  /** Parses `$(…)` and `<(…)` as separate commands, which may be incomplete. */
  #substitution(): void {
    const line = this.#line;
    let depth = 0;
    const start = this.#at + 1;
    for (; this.#at < line.length; this.#at++) {
      const letter = line.charAt(this.#at);
      if (letter === '(') depth++;
      else if (letter === ')' && --depth === 0) break;
    }
    this.#parseNested(line.slice(start, this.#at));
    this.#at++;
  }

  #parseNested(inner: string): void {
    this.#unparsed.add('a command substitution');
    if (this.#nesting >= MAX_NESTED) return;
    const { commands, unparsed: unread } = new ShellLineParser(inner, this.#nesting + 1).read();
    this.#commands.push(...commands);
    for (const each of unread) this.#unparsed.add(each);
  }

  #readUntil(quote: string): string {
    const end = this.#line.indexOf(quote, this.#at);
    if (end === -1) this.#unparsed.add('a quote without its end');
    const text = this.#line.slice(this.#at, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#line.length : end + 1;
    return text;
  }
}

/** Some characters are special only in some positions: `{}` alone, `~` and `!` inside a word. */
function isPlainLetter(letter: string, line: string, after: number, start: number): boolean {
  switch (letter) {
    case '~':
      return after - 1 > start && !/[:=]/.test(line.charAt(after - 2));
    case '{':
      return line.charAt(after) === '}';
    case '}':
      return line.charAt(after - 2) === '{';
    case '^':
      return true;
    case '!':
      return false;
    case ']':
      return line.slice(start, after - 1).indexOf('[') === -1;
    default:
      return line.slice(start, after) === '[' && /[ \t]/.test(line.charAt(after)); // the program `[`
  }
}
