/** Modules of Node that run no other code. */
const HARMLESS =
  /^node:(?:assert|buffer|crypto|dns|events|fs|http|https|net|os|path|perf_hooks|querystring|readline|stream|string_decoder|timers|tty|url|util|zlib)(?:\/[a-z]+)?$/;

/** `import … from 'x'`, `export … from 'x'` and `import 'x'` at the beginning of a line. */
const STATIC_IMPORT = /^[ \t]*(?:import|export)\b(?:[\w\s{},*$]*?\bfrom)?\s*(['"])([^'"\\\n]+)\1[ \t]*;?/gm;

/** What a module imports by a path, and its source without those imports and those of Node's harmless modules. */
export function importsOf(source: string): { readonly paths: readonly string[]; readonly rest: string } {
  const paths: string[] = [];
  const rest = source.replace(STATIC_IMPORT, (whole: string, _quote: string, from: string) => {
    if (/^\.{1,2}\//.test(from)) paths.push(from);
    else if (!HARMLESS.test(from)) return whole;
    return '';
  });
  return { paths, rest };
}

/** Words by which a program gets at other code. A name can be written with escapes, too. */
const LOADERS = {
  js: /\b(?:import|require|eval|Function|constructor|child_process|spawn\w*|exec\w*|fork|dlopen|Worker|Reflect|globalThis|global|getBuiltinModule|binding|mainModule|WebAssembly|module|Deno|Bun)\b|\bprocess\s*(?:\?\.)?\[|\\[ux]/,
  python:
    /\b(?:import|from|exec\w*|eval|compile|open|getattr|globals|locals|vars|setattr|breakpoint|input)\b|__\w+__|\\[uxN]/,
} as const;

/** Whether a source may load or run other code. It is a search for words: what it does not find was in the reviewer's view. */
export const loadsOtherCode = (source: string, language: keyof typeof LOADERS): boolean =>
  LOADERS[language].test(source);
