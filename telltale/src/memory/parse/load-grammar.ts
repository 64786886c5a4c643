import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Parser, Language as Tables } from 'web-tree-sitter';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Grammar, Visit } from './grammar.ts';

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

export type Engine = Awaited<ReturnType<typeof loadEngine>>;

export async function loadGrammar(engine: Engine, { wasm, visits, mend }: Grammar): Promise<LoadedGrammar> {
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
