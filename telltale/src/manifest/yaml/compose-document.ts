import { Composer, type Document, Lexer, type ParsedNode, Parser, type YAMLError } from 'yaml';
import { type Finding, MANIFEST_LIMITS, type Span } from '../diagnostic.ts';

export type YamlDocument = Document.Parsed<ParsedNode>;

export type Composed =
  | { readonly document: YamlDocument; readonly errors: readonly YAMLError[] }
  | { readonly refused: Finding; readonly span: Span };

/** The limit of tokens in one document. A handwritten file of the maximum size has fewer. */
const MAX_TOKENS = 250_000;

/**
 * Parses the YAML tree of one document. The parser keeps its own stack, so the depth is checked token by token before
 * the recursive composer runs. The reader compares keys, because the composer would take quadratic time.
 */
export function composeDocument({ text, base }: DocumentText): Composed {
  const parser = new Parser();
  const composer = boundedComposer();
  const tokens = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    const span = { start: base + parser.offset - 1, end: base + parser.offset };
    if (parser.stack.length > MANIFEST_LIMITS.depth + 2) return { refused: TOO_DEEP, span };
    if (++count > MAX_TOKENS) return { refused: tooManyTokens(), span };
  }
  for (const token of parser.end()) tokens.push(token);
  const documents: YamlDocument[] = [];
  for (const token of tokens)
    for (const document of composer.next(token)) documents.push(document as YamlDocument);
  for (const document of composer.end(true, text.length)) documents.push(document as YamlDocument);
  const [document] = documents;
  if (document === undefined)
    throw new Error('A YAML composer that is told to force a document returned none.');
  return { document, errors: documents.flatMap((each) => each.errors) };
}

/**
 * How many errors of one document are kept. Further ones follow from these, and each costs a stack trace: 500,000 took
 * 7 s.
 */
const MAX_SYNTAX_ERRORS = 100;

type ReportError = (source: unknown, code: string, message: string, isWarning?: boolean) => void;

/** A composer that keeps the first errors, and no warnings, because the reader uses none. */
function boundedComposer(): Composer {
  const composer = new Composer({ uniqueKeys: false, logLevel: 'silent', prettyErrors: false, merge: false });
  // The library has no option for it. `onError` is a property of the instance and is read at each call.
  const edge = composer as unknown as { onError: ReportError };
  const report = edge.onError;
  let count = 0;
  edge.onError = (source, code, message, isWarning) => {
    if (isWarning !== true && ++count <= MAX_SYNTAX_ERRORS) report(source, code, message);
  };
  return composer;
}

const TOO_DEEP: Finding = {
  severity: 'error',
  code: 'too_deep',
  message: `Lists and maps are nested deeper than ${MANIFEST_LIMITS.depth} levels.`,
  hint: 'No manifest needs that many. Is this the right file?',
};

/** Created when needed, because formatting the first number takes 10 ms. */
const tooManyTokens = (): Finding => ({
  severity: 'error',
  code: 'too_many_values',
  message: `The document has more than ${MAX_TOKENS.toLocaleString('en')} pieces of YAML.`,
  hint: 'Split it into several files and import them.',
});

/** The range of one document in a file. */
export interface DocumentText {
  readonly text: string;
  /** Its offset in the file. */
  readonly base: number;
}

const MARKER = /^(?:---|\.\.\.)(?=[ \t\r\n]|$)/gm;
const CONTENT = /^(?!%|[ \t]*(?:#.*)?\r?$)/m;

/**
 * Splits a file at its document markers. YAML allows none of them inside a value, so a document with an unclosed quote
 * cannot swallow the next one. Directives stay with the document that follows. Stops at `limit`.
 */
export function splitDocuments(text: string, limit: number): readonly DocumentText[] {
  const documents: DocumentText[] = [];
  let base = 0;
  const cutAt = (end: number) => {
    documents.push({ text: text.slice(base, end), base });
    base = end;
  };
  let opened = false;
  for (const marker of text.matchAll(MARKER)) {
    if (documents.length > limit) return documents;
    if (marker[0] === '...') {
      const end = text.indexOf('\n', marker.index);
      cutAt(end === -1 ? text.length : end + 1);
      opened = false;
      continue;
    }
    if (opened || CONTENT.test(text.slice(base, marker.index))) cutAt(marker.index);
    opened = true;
  }
  if (base < text.length || documents.length === 0) cutAt(text.length);
  return documents;
}
