import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { SourceParser } from '../../../src/memory/memory.ts';
import { languageOf } from '../../../src/memory/parse/language-of.ts';
import { type Declaration, listByCompiler } from './compiler-list.ts';

export interface Agreement {
  /** How many the compiler has, and how many we have. */
  readonly expected: number;
  readonly found: number;
  /** Of what the compiler has, the part that we have. */
  readonly recall: number;
  /** Of what we have, the part that the compiler has. */
  readonly precision: number;
  /** `src/a.ts:12 method run`. */
  readonly missing: readonly string[];
  readonly surplus: readonly string[];
}

export interface Comparison {
  readonly files: number;
  /** Files in which the engine saw a mistake that the compiler may not see. */
  readonly broken: readonly string[];
  readonly declarations: Agreement;
  readonly imports: Agreement;
  /** The compiler's declarations by kind, and how many of each are missing. */
  readonly kinds: Readonly<Record<string, { readonly expected: number; readonly missing: number }>>;
}

/**
 * Reads the TypeScript files below a folder both ways: by our reading, and by the compiler's own tree. `every`: only
 * one in so many of them.
 */
export async function compareFolder(folder: string, parser: SourceParser, every = 1): Promise<Comparison> {
  const declarations = { ours: [] as string[], compilers: [] as string[] };
  const imports = { ours: [] as string[], compilers: [] as string[] };
  const broken: string[] = [];
  const paths = typescriptFiles(folder).filter((_, index) => index % every === 0);
  for (const path of paths) {
    const text = readFileSync(path, 'utf8');
    const at = relative(folder, path);
    const own = await parser.parse(languageOf(path)!, text, 60_000);
    const compiler = listByCompiler(path, text);
    if (own.broken) broken.push(at);
    const say = ({ name, kind, line }: Declaration) => `${at}:${line} ${kind} ${name}`;
    declarations.ours.push(...own.symbols.map(say));
    declarations.compilers.push(...compiler.declarations.map(say));
    imports.ours.push(...new Set(own.imports.map(({ specifier }) => `${at} → ${specifier}`)));
    imports.compilers.push(...compiler.imports.map((specifier) => `${at} → ${specifier}`));
  }
  const agreed = agree(declarations.compilers, declarations.ours);
  return {
    files: paths.length,
    broken,
    declarations: agreed,
    imports: agree(imports.compilers, imports.ours),
    kinds: byKind(declarations.compilers, agreed.missing),
  };
}

export function typescriptFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:[cm]?ts|tsx)$/.test(path) && !/(?:^|[\\/])node_modules[\\/]/.test(path))
    .sort()
    .map((path) => join(folder, path));
}

/** As multisets: one that stands twice on one side has to stand twice on the other. */
export function agree(expected: readonly string[], found: readonly string[]): Agreement {
  const missing = without(expected, found);
  const surplus = without(found, expected);
  const share = (part: number, whole: number) => (whole === 0 ? 1 : part / whole);
  return {
    expected: expected.length,
    found: found.length,
    recall: share(expected.length - missing.length, expected.length),
    precision: share(found.length - surplus.length, found.length),
    missing,
    surplus,
  };
}

function without(from: readonly string[], taken: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const each of taken) left.set(each, (left.get(each) ?? 0) + 1);
  return from.filter((each) => {
    const count = left.get(each) ?? 0;
    left.set(each, count - 1);
    return count <= 0;
  });
}

function byKind(expected: readonly string[], missing: readonly string[]): Comparison['kinds'] {
  const kinds: Record<string, { expected: number; missing: number }> = {};
  const kindOf = (said: string) => said.split(' ')[1]!;
  for (const each of expected) {
    const kind = kindOf(each);
    kinds[kind] ??= { expected: 0, missing: 0 };
    kinds[kind].expected += 1;
  }
  for (const each of missing) kinds[kindOf(each)]!.missing += 1;
  return kinds;
}
