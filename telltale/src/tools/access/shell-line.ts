/** A word of a command line, as the shell would pass it on. */
export interface ShellWord {
  /** Without its quotes. Where it is not `known`, what is left of it as it was written. */
  readonly text: string;
  /** Whether the shell passes on just this text: it holds no variable, substitution, wildcard, brace or tilde. */
  readonly known: boolean;
}

/** One command of a line. */
export interface ShellCommand {
  /** Its program and arguments; empty where it only sets variables or redirects. */
  readonly words: readonly ShellWord[];
  /** Names of the variables that are set in front of it. */
  readonly variables: readonly string[];
  /** Files that it reads by `<`. */
  readonly inputs: readonly ShellWord[];
  /** Files that it writes by `>`, `>>` and the like. */
  readonly outputs: readonly ShellWord[];
}

export interface ShellLine {
  readonly commands: readonly ShellCommand[];
  /** What was met that this parser does not follow: the line may run commands that are not among `commands`. */
  readonly unread: readonly string[];
}

const RESERVED: ReadonlySet<string> = new Set(
  'if then else elif fi while until do done for case esac in select function coproc ! { } [['.split(' '),
);
/** Those of them after which words follow that are no command. */
const OTHER_SYNTAX: ReadonlySet<string> = new Set(['for', 'case', 'select', 'function', 'coproc', '[[']);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=/;
const REDIRECTION = /^(?:&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)/;

/**
 * Reads a line for sh, or a script, as a list of commands. It follows lists, pipes, subshells, quotes and redirections.
 * What it does not follow (substitutions, functions, here-documents) it names in `unread`, and what stands inside of a
 * substitution is read as commands of its own. The result must never be the reason to allow something that is `unread`.
 */
export function readShellLine(line: string): ShellLine {
  return new LineReader(line).read();
}

/** Of these some shells make a blank, and some a letter of a word. */
const CONTROL = /(?![\t\n])\p{Cc}/u;

const MAX_NESTED = 8;

class LineReader {
  readonly #line: string;
  readonly #nested: number;
  readonly #commands: ShellCommand[] = [];
  readonly #unread = new Set<string>();
  #at = 0;
  #words: ShellWord[] = [];
  #variables: string[] = [];
  #inputs: ShellWord[] = [];
  #outputs: ShellWord[] = [];

  constructor(line: string, nested = 0) {
    this.#line = line;
    this.#nested = nested;
  }

  read(): ShellLine {
    const line = this.#line;
    if (CONTROL.test(line)) this.#unread.add('a control character');
    while (this.#at < line.length) {
      const rest = line.slice(this.#at, this.#at + 3);
      const letter = line.charAt(this.#at);
      const redirection = REDIRECTION.exec(rest)?.[0];
      if (letter === ' ' || letter === '\t') this.#at++;
      else if (rest.startsWith('\\\n')) this.#at += 2;
      else if (redirection !== undefined && !/^[<>]\(/.test(rest)) this.#redirect(redirection);
      else if (/[;&|()\n\r]/.test(letter)) {
        if (letter === '(' && this.#words.length > 0) this.#unread.add('a function');
        this.#at++;
        this.#endCommand();
      } else if (letter === '#') this.#skipComment();
      else this.#take(this.#word());
    }
    this.#endCommand();
    return { commands: this.#commands, unread: [...this.#unread] };
  }

  #take(word: ShellWord): void {
    const { text } = word;
    if (this.#words.length === 0 && RESERVED.has(text)) {
      if (OTHER_SYNTAX.has(text)) this.#unread.add(`"${text}"`);
      return;
    }
    const assigned = this.#words.length === 0 ? ASSIGNMENT.exec(text)?.[0] : undefined;
    if (assigned === undefined) this.#words.push(word);
    else this.#variables.push(assigned.replace(/\W.*$/, ''));
  }

  #redirect(operator: string): void {
    this.#at += operator.length;
    // A number right in front of it is a file descriptor.
    const last = this.#words.at(-1);
    const before = this.#line.charAt(this.#at - operator.length - 1);
    if (last !== undefined && /^\d+$/.test(last.text) && /\d/.test(before)) this.#words.pop();
    if (operator.startsWith('<<')) {
      this.#unread.add('a here-document');
      return;
    }
    while (/[ \t]/.test(this.#line.charAt(this.#at))) this.#at++;
    if (this.#at >= this.#line.length || /[;&|()<>\n\r]/.test(this.#line.charAt(this.#at))) {
      this.#unread.add('a redirection without a file');
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
        if (escaped !== '\n') text += escaped; // else the line goes on
      } else if (letter === "'") text += this.#until("'");
      else if (letter === '"') {
        const quoted = this.#doubleQuoted();
        text += quoted.text;
        known &&= quoted.known;
      } else if (letter === '`') {
        known = false;
        this.#nest(this.#until('`'));
      } else {
        if (/[$*?[\]{}~!^]/.test(letter)) known &&= isPlainLetter(letter, line, this.#at, start);
        if (letter === '$' && line.charAt(this.#at) === '{') this.#unread.add('a variable');
        text += letter;
      }
    }
    if (this.#at === start) this.#at++; // a lone bracket: never stand still
    return { text, known };
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
        this.#nest(this.#until('`'));
      } else if (letter === '$' && line.charAt(this.#at) === '(') {
        known = false;
        this.#substitution();
      } else {
        if (letter === '$' || letter === '!') known = false;
        text += letter;
      }
    }
    if (this.#at >= line.length) this.#unread.add('a quote without its end');
    this.#at++;
    return { text, known };
  }

  /** `$(…)`, `<(…)`: read as commands of their own, which need not be all that they come to. */
  #substitution(): void {
    const line = this.#line;
    let depth = 0;
    const start = this.#at + 1;
    for (; this.#at < line.length; this.#at++) {
      const letter = line.charAt(this.#at);
      if (letter === '(') depth++;
      else if (letter === ')' && --depth === 0) break;
    }
    this.#nest(line.slice(start, this.#at));
    this.#at++;
  }

  #nest(inner: string): void {
    this.#unread.add('a command substitution');
    if (this.#nested >= MAX_NESTED) return;
    const { commands, unread } = new LineReader(inner, this.#nested + 1).read();
    this.#commands.push(...commands);
    for (const each of unread) this.#unread.add(each);
  }

  #until(quote: string): string {
    const end = this.#line.indexOf(quote, this.#at);
    if (end === -1) this.#unread.add('a quote without its end');
    const text = this.#line.slice(this.#at, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#line.length : end + 1;
    return text;
  }
}

/** Some letters mean something in some places only: `{}` alone, `~` and `!` inside of a word. */
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
