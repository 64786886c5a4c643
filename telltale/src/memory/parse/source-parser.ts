import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Node, Parser, Language as Tables, Tree } from 'web-tree-sitter';
import { RuntimeError } from '../../lib/errors.ts';
import type { GraphImport, GraphSymbol } from '../../store/graph.ts';
import type { Language, ParsedFile, SourceParser } from '../memory.ts';
import { JAVASCRIPT, TSX, TYPESCRIPT } from './ecmascript/grammars.ts';
import { GO } from './go/grammar.ts';
import type { Grammar, Visit } from './grammar.ts';
import { firstSentence, oneLine, receiverOf, textOf, visitBlock } from './grammar.ts';
import { JAVA } from './java/grammar.ts';
import { blocksOf } from './markdown/blocks.ts';
import {
  visitAssignment,
  visitClass,
  visitDecorated,
  visitFunction,
  visitTypeAlias,
} from './python/declarations.ts';
import type { Reading } from './reading.ts';
import {
  createReading,
  MAX_CHARS,
  MAX_DOC,
  MAX_IMPORTS,
  MAX_NAME,
  MAX_SPECIFIER,
  MAX_SYMBOLS,
} from './reading.ts';
import { RUST } from './rust/grammar.ts';

const lineOf = (node: Node) => node.startPosition.row + 1;
const compact = (text: string, node: Node) => textOf(text, node).replace(/\s+/g, '');

/** `import a.b as c, d`: each is an import of all of it. */
const visitImport: Visit = (node, reading) => {
  for (const part of node.childrenForFieldName('name')) {
    const name = part?.type === 'aliased_import' ? part.childForFieldName('name') : part;
    if (name) reading.import({ specifier: compact(reading.text, name), line: lineOf(node), names: ['*'] });
  }
};

/** `from ..pkg import a as b, c`; `from . import module`. */
const visitFromImport: Visit = (node, reading) => {
  const from = node.childForFieldName('module_name');
  if (from === null) return;
  const isAll = node.namedChildren.some((child) => child?.type === 'wildcard_import');
  const names = isAll ? ['*'] : importedNames(node, reading);
  reading.import({ specifier: compact(reading.text, from), line: lineOf(node), names });
};

const visitFutureImport: Visit = (node, reading) => {
  reading.import({ specifier: '__future__', line: lineOf(node), names: importedNames(node, reading) });
};

function importedNames(node: Node, reading: Reading): readonly string[] {
  return node.childrenForFieldName('name').flatMap((part) => {
    const name = part?.type === 'aliased_import' ? part.childForFieldName('name') : part;
    const alias = part?.childForFieldName('alias');
    if (!name) return [];
    const called = compact(reading.text, name);
    if (alias) reading.alias(textOf(reading.text, alias), called);
    return [called];
  });
}

const visitCall: Visit = (node, reading) => {
  const callee = node.childForFieldName('function');
  if (callee === null) return;
  const written = callee.endIndex - callee.startIndex < 100 ? textOf(reading.text, callee) : '';
  if (written === 'importlib.import_module' || written === 'import_module' || written === '__import__')
    importByCall(node, reading);
  else if (written !== 'super') called(callee, reading);
};

/** `@name`; that of `@name()` is a call already. */
const visitDecorator: Visit = (node, reading) => {
  const named = node.firstNamedChild;
  if (named?.type === 'identifier' || named?.type === 'attribute') called(named, reading);
};

function called(callee: Node, reading: Reading): void {
  const { text } = reading;
  if (callee.type === 'identifier') {
    reading.call(textOf(text, callee), undefined, callee.startPosition.row + 1);
    return;
  }
  const name = callee.type === 'attribute' ? callee.childForFieldName('attribute') : null;
  const object = callee.childForFieldName('object');
  if (name !== null && object !== null)
    reading.call(textOf(text, name), receiverOf(text, object), name.startPosition.row + 1);
}

function importByCall(node: Node, reading: Reading): void {
  const first = node.childForFieldName('arguments')?.firstNamedChild;
  const specifier =
    first?.type === 'string' ? /^["']([\w.]+)["']$/.exec(textOf(reading.text, first))?.[1] : undefined;
  if (specifier !== undefined) reading.import({ specifier, line: node.startPosition.row + 1, names: ['*'] });
}

const PYTHON: Grammar = {
  wasm: 'tree-sitter-python.wasm',
  visits: {
    decorated_definition: visitDecorated,
    class_definition: visitClass,
    function_definition: visitFunction,
    lambda: visitBlock,
    assignment: visitAssignment,
    type_alias_statement: visitTypeAlias,
    import_statement: visitImport,
    import_from_statement: visitFromImport,
    future_import_statement: visitFutureImport,
    call: visitCall,
    decorator: visitDecorator,
  },
};

const GRAMMARS: Readonly<Record<Exclude<Language, 'markdown'>, Grammar>> = {
  typescript: TYPESCRIPT,
  tsx: TSX,
  javascript: JAVASCRIPT,
  python: PYTHON,
  go: GO,
  rust: RUST,
  java: JAVA,
};

/** Nodes between two looks at the clock. */
const CLOCK_EVERY = 256;

export function createSourceParser(): SourceParser {
  const grammars = new Map<Language, Promise<LoadedGrammar>>();
  let engine: Promise<SourceParserEngine> | undefined;
  let parser: Parser | undefined;

  const once = (language: Language, grammar: Grammar): Promise<LoadedGrammar> => {
    engine ??= loadEngine();
    const known = grammars.get(language);
    if (known !== undefined) return known;
    const loading = engine.then((loaded) => loadGrammar(loaded, grammar));
    grammars.set(language, loading);
    // What failed is tried again by the next file.
    loading.catch(() => {
      grammars.delete(language);
      engine = undefined;
    });
    return loading;
  };

  return {
    async parse(language, text, budgetMs) {
      const deadline = performance.now() + budgetMs;
      const source = text.length > MAX_CHARS ? text.slice(0, MAX_CHARS) : text;
      const cut = source.length < text.length;
      if (language === 'markdown') return readMarkdown(source, deadline, cut);
      const loaded = await once(language, GRAMMARS[language]);
      parser ??= new loaded.Parser();
      return { language, ...readTree(parser, loaded, source, deadline, cut) };
    },
    close() {
      parser?.delete();
      parser = undefined;
    },
  };
}

function readTree(
  parser: Parser,
  grammar: LoadedGrammar,
  text: string,
  deadline: number,
  cut: boolean,
): Omit<ParsedFile, 'language'> {
  const isLate = () => performance.now() > deadline;
  const tree = parseBest(parser, grammar, text, isLate);
  if (tree === null) return { symbols: [], imports: [], calls: [], broken: true };
  try {
    const root = tree.rootNode;
    const reading = createReading(text);
    let cutShort = false;
    const nodes = root.descendantsOfType(grammar.types);
    for (let index = 0; index < nodes.length; index += 1) {
      if (index % CLOCK_EVERY === 0 && (reading.isFull || isLate())) {
        cutShort = true;
        break;
      }
      const node = nodes[index]!;
      const visit = grammar.visits[node.typeId];
      if (visit === undefined) continue;
      reading.leave(node.startIndex);
      visit(node, reading);
    }
    const { full, ...found } = reading.finish();
    return { ...found, broken: cut || cutShort || full || root.hasError };
  } finally {
    tree.delete();
  }
}

/** A tree of the text, or of the mended one where that has fewer mistakes; null where there was no time. */
function parseBest(parser: Parser, grammar: LoadedGrammar, text: string, isLate: () => boolean): Tree | null {
  const parse = (source: string): Tree | null => {
    parser.setLanguage(grammar.tables);
    const tree = parser.parse(source, null, { progressCallback: isLate });
    if (tree === null) parser.reset(); // Else the next text would be read as the rest of this one.
    return tree;
  };
  const tree = parse(text);
  const mended = tree?.rootNode.hasError ? grammar.mend?.(text) : undefined;
  if (tree === null || mended === undefined || mended === text) return tree;
  const other = parse(mended);
  if (other === null) return tree;
  const mistakes = ({ rootNode }: Tree) => rootNode.descendantsOfType('ERROR').length;
  const isBetter = !other.rootNode.hasError || mistakes(other) < mistakes(tree);
  (isBetter ? tree : other).delete();
  return isBetter ? other : tree;
}

const require = createRequire(import.meta.url);

/** A grammar that is ready: the engine's tables, and what to do at which kind of node. */
export interface LoadedGrammar {
  readonly Parser: typeof Parser;
  readonly tables: Tables;
  readonly types: string[];
  readonly mend: Grammar['mend'];
  /** By the engine's number of a type. */
  readonly visits: readonly (Visit | undefined)[];
}

const grammarUnreadable = (wasm: string, cause: unknown) =>
  new RuntimeError(
    'grammar_unreadable',
    `The grammar ${wasm} could not be loaded: ${(cause as Error).message}`,
    {
      hint: 'It comes with the package @vscode/tree-sitter-wasm: install the dependencies anew.',
      cause,
    },
  );

/** The engine is large: it is loaded when the first file is read, once for a thread. */
export async function loadEngine() {
  try {
    const engine = await import('web-tree-sitter');
    await engine.Parser.init();
    return engine;
  } catch (error) {
    throw grammarUnreadable('engine web-tree-sitter', error);
  }
}

export type SourceParserEngine = Awaited<ReturnType<typeof loadEngine>>;

export async function loadGrammar(
  engine: SourceParserEngine,
  { wasm, visits, mend }: Grammar,
): Promise<LoadedGrammar> {
  try {
    const home = require.resolve('@vscode/tree-sitter-wasm/package.json');
    const tables = await engine.Language.load(join(dirname(home), 'wasm', wasm));
    const byType = tables.types.map((type, id) =>
      Object.hasOwn(visits, type) && tables.nodeTypeIsNamed(id) ? visits[type] : undefined,
    );
    return { Parser: engine.Parser, tables, types: Object.keys(visits), visits: byType, mend };
  } catch (error) {
    throw grammarUnreadable(wasm, error);
  }
}

/** Lines of a paragraph in which its first sentence is looked for. */
const MAX_DOC_LINES = 8;

type SourceParserDraft = { -readonly [Key in keyof GraphSymbol]: GraphSymbol[Key] };

/**
 * Headings are symbols that reach to the next of their rank, with the first sentence below them; links to files are
 * imports. There is no grammar of it among the engine's, and these two need none.
 */
function readMarkdown(text: string, deadline: number, cut: boolean): ParsedFile {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  const symbols: SourceParserDraft[] = [];
  const imports = new Map<string, GraphImport>();
  /** The headings that are open, the highest first. */
  const open: { readonly rank: number; readonly symbol: number }[] = [];
  let full = false;
  let last: SourceParserDraft | undefined;

  const closeDownTo = (rank: number, line: number) => {
    while (open.length > 0 && open[open.length - 1]!.rank >= rank)
      symbols[open.pop()!.symbol]!.endLine = line;
  };

  for (const block of blocksOf(lines)) {
    if (block.is === 'heading') {
      closeDownTo(block.rank, block.line - 1);
      const name = plainText(block.text).slice(0, MAX_NAME);
      if (symbols.length >= MAX_SYMBOLS) full = true;
      if (name !== '' && symbols.length < MAX_SYMBOLS) {
        const container = open[open.length - 1]?.symbol;
        const written = `${'#'.repeat(block.rank)} ${block.text}`;
        last = {
          name,
          kind: 'heading',
          line: block.line,
          endLine: block.line,
          signature: oneLine(written, 0, written.length),
          exported: true,
          ...(container === undefined ? {} : { container }),
        };
        open.push({ rank: block.rank, symbol: symbols.push(last) - 1 });
      }
    } else if (last !== undefined && last.doc === undefined && block.is === 'paragraph') {
      const doc = firstSentence(
        block.lines.slice(0, MAX_DOC_LINES).map((line) => plainText(line.slice(0, 2 * MAX_DOC))),
      );
      if (doc !== undefined) last.doc = doc;
      last = undefined;
    }
    const within = block.is === 'heading' ? [block.text] : block.lines;
    within.forEach((line, index) => {
      full ||= performance.now() > deadline;
      for (const specifier of full ? [] : linksIn(line)) {
        if (imports.size >= MAX_IMPORTS) full = true;
        else if (!imports.has(specifier) && specifier.length <= MAX_SPECIFIER)
          imports.set(specifier, { specifier, line: block.line + index, names: ['*'] });
      }
    });
    if (full) break;
  }
  closeDownTo(0, lines.length);
  return { language: 'markdown', symbols, imports: [...imports.values()], calls: [], broken: cut || full };
}

/** Characters of a line that are looked at for links. */
const MAX_LINE = 4_000;

const CODE = /(`+)(?!`)(?:.*?[^`])?\1(?!`)/g;
const COMMENT = /<!--.*?-->/g;
const LINK = /\]\(\s*(?:<([^<>]*)>|([^()\s<>]+(?:\([^()\s]*\)[^()\s]*)*))/g;
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s*(?:<([^<>]*)>|(\S+))/g;
const ATTRIBUTE = /\b(?:href|src)=["']([^"']+)["']/g;

/** The files that a line links to, as they are written, without what stands behind `#` or `?`. */
function linksIn(line: string): readonly string[] {
  if (!/[\](]|=["']/.test(line)) return [];
  const text = line.slice(0, MAX_LINE).replace(CODE, '').replace(COMMENT, '');
  const found: string[] = [];
  for (const pattern of [LINK, DEFINITION, ATTRIBUTE])
    for (const match of text.matchAll(pattern)) {
      const path = filePath(match[1] ?? match[2] ?? '');
      if (path !== undefined) found.push(path);
    }
  return found;
}

function filePath(target: string): string | undefined {
  const path = target.replace(/[#?].*$/, '').trim();
  const isElsewhere = /^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith('//');
  if (path === '' || isElsewhere || path.startsWith('^')) return undefined;
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // A lone `%` is what the file is called.
  }
}

/** What a reader sees of a line: links by their text, no marks. */
const plainText = (line: string): string =>
  line
    .slice(0, MAX_LINE)
    .replace(COMMENT, '')
    .replace(/!?\[([^[\]]*)\](?:\([^()]*\)|\[[^[\]]*\])/g, '$1')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/\s*\{#[\w-]+\}\s*$/, '')
    .replace(/(\*\*|__|`+|~~)/g, '')
    .replace(/(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])/g, '$1')
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
