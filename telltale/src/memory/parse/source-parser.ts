import type { Parser, Tree } from 'web-tree-sitter';
import type { Language, ParsedFile, SourceParser } from '../parsed-file.ts';
import { createReading } from './create-reading.ts';
import { JAVASCRIPT, TSX, TYPESCRIPT } from './ecmascript/grammars.ts';
import { GO } from './go/grammar.ts';
import type { Grammar } from './grammar.ts';
import { JAVA } from './java/grammar.ts';
import { MAX_CHARS } from './limits.ts';
import { type Engine, type LoadedGrammar, loadEngine, loadGrammar } from './load-grammar.ts';
import { readMarkdown } from './markdown/read-markdown.ts';
import { PYTHON } from './python/grammar.ts';
import { RUST } from './rust/grammar.ts';

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
  let engine: Promise<Engine> | undefined;
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
