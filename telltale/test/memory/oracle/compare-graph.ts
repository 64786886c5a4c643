import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import ts from 'typescript';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { openMemory } from '../../../src/memory/open-memory.ts';
import type { GraphStore } from '../../../src/store/graph.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { type Agreement, agree, typescriptFiles } from './compare.ts';
import { listByCompiler } from './compiler-list.ts';

export interface GraphComparison {
  /** Imports that lead from one file of the folder to another: `a.ts ./b → b.ts`. */
  readonly edges: Agreement;
  /** Calls of exported functions, of so many of them: `b.ts#run called at a.ts:12`; absent where none is asked for. */
  readonly callers?: {
    readonly functions: number;
    /** Those that are known to mean the function, and all that have its name as well. */
    readonly resolved: Agreement;
    readonly all: Agreement;
  };
}

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ESNext,
  allowImportingTsExtensions: true,
  noEmit: true,
};

/** Indexes a folder of TypeScript and holds the graph against what the compiler resolves and its language service finds. */
export async function compareGraph(folder: string, functions = 0): Promise<GraphComparison> {
  const clock = createSystemClock();
  const store = await openStore('memory', { clock });
  const memory = await openMemory({ store, folder, clock, tokenizer: async () => ({ count: () => 1 }) });
  try {
    await memory.index();
    const paths = typescriptFiles(folder);
    const graphs = await store.graphs();
    const edges = agree(edgesOfCompiler(folder, paths), await edgesOf(graphs, memory.graph, folder, paths));
    if (functions === 0) return { edges };
    return { edges, callers: await compareCallers(graphs, memory.graph, folder, paths, functions) };
  } finally {
    await memory.close();
    await store.close();
  }
}

const ALL = 10_000;

async function edgesOf(graphs: GraphStore, graph: string, folder: string, paths: readonly string[]) {
  const edges = new Set<string>();
  for (const path of paths) {
    const from = relative(folder, path);
    for (const { specifier, target } of await graphs.importsOf(graph, from, ALL))
      if (target !== undefined) edges.add(`${from} ${specifier} → ${target}`);
  }
  return [...edges];
}

function edgesOfCompiler(folder: string, paths: readonly string[]): readonly string[] {
  const cache = ts.createModuleResolutionCache(folder, (name) => name, OPTIONS);
  return paths.flatMap((path) => {
    const from = relative(folder, path);
    return listByCompiler(path, readFileSync(path, 'utf8')).imports.flatMap((specifier) => {
      const { resolvedModule } = ts.resolveModuleName(specifier, path, OPTIONS, ts.sys, cache);
      const to = resolvedModule && relative(folder, resolvedModule.resolvedFileName);
      const isInside = to !== undefined && to !== from && !/^\.\.|(?:^|[\\/])node_modules[\\/]/.test(to);
      return isInside ? [`${from} ${specifier} → ${to}`] : [];
    });
  });
}

interface Exported {
  readonly path: string;
  readonly name: string;
  readonly at: number;
  readonly line: number;
}

async function compareCallers(
  graphs: GraphStore,
  graph: string,
  folder: string,
  paths: readonly string[],
  count: number,
): Promise<NonNullable<GraphComparison['callers']>> {
  const service = languageService(folder, paths);
  const program = service.getProgram()!;
  const exported = paths.flatMap((path) => exportedFunctions(program.getSourceFile(path)!));
  // Evenly over the folder, and the same every time.
  const every = Math.max(1, Math.floor(exported.length / count));
  const sample = exported.filter((_, index) => index % every === 0).slice(0, count);
  const found = { expected: [] as string[], resolved: [] as string[], all: [] as string[] };
  for (const one of sample) {
    const own = relative(folder, one.path);
    const say = (places: Iterable<string>) =>
      [...new Set(places)].map((place) => `${own}#${one.name} called at ${place}`);
    found.expected.push(...say(callsOf(service, program, one).map((each) => relative(folder, each))));
    const symbols = await graphs.symbolsOf(graph, own, ALL);
    const symbol = symbols.find(({ name, line, endLine }) => {
      return name === one.name && line <= one.line && one.line <= endLine;
    });
    if (symbol === undefined) continue;
    const callers = await graphs.callersOf(graph, symbol, ALL);
    const place = ({ path, line }: (typeof callers)[number]) => `${path}:${line}`;
    found.resolved.push(...say(callers.filter(({ resolved }) => resolved).map(place)));
    found.all.push(...say(callers.map(place)));
  }
  return {
    functions: sample.length,
    resolved: agree(found.expected, found.resolved),
    all: agree(found.expected, found.all),
  };
}

function languageService(folder: string, paths: readonly string[]): ts.LanguageService {
  return ts.createLanguageService({
    getScriptFileNames: () => [...paths],
    getScriptVersion: () => '1',
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => OPTIONS,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptSnapshot(path) {
      const text = ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
  });
}

function exportedFunctions(file: ts.SourceFile): readonly Exported[] {
  return file.statements.flatMap((node) => {
    const isExported =
      ts.isFunctionDeclaration(node) &&
      node.body !== undefined &&
      node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    if (!isExported || node.name === undefined) return [];
    const at = node.name.getStart(file);
    const line = file.getLineAndCharacterOfPosition(at).line + 1;
    return [{ path: file.fileName, name: node.name.text, at, line }];
  });
}

/** `path:line` of what calls a function, absolute. */
function callsOf(
  service: ts.LanguageService,
  program: ts.Program,
  { path, at }: Exported,
): readonly string[] {
  const references = (service.findReferences(path, at) ?? []).flatMap((each) => each.references);
  return references.flatMap(({ fileName, textSpan }) => {
    const file = program.getSourceFile(fileName)!;
    const line = file.getLineAndCharacterOfPosition(textSpan.start).line + 1;
    return isCalled(file, textSpan.start) ? [`${fileName}:${line}`] : [];
  });
}

function isCalled(file: ts.SourceFile, start: number): boolean {
  let token: ts.Node = file;
  const narrow = (node: ts.Node): void => {
    if (node.getStart(file) > start || node.end <= start) return;
    token = node;
    ts.forEachChild(node, narrow);
  };
  ts.forEachChild(file, narrow);
  if (token === file) return false; // It stands in a comment.
  const callee = ts.isPropertyAccessExpression(token.parent) ? token.parent : token;
  const { parent } = callee;
  return (ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression === callee;
}
