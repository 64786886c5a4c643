import type { GraphImport } from '../../../store/graph.ts';
import type { Language } from '../../parsed-file.ts';
import type { ResolveContext } from './resolve-context.ts';
import { resolveGo, resolveJava, resolveMarkdown, resolvePython, resolveRust } from './resolve-module.ts';
import { resolveScript } from './resolve-script.ts';
import type { ResolveView } from './resolve-view.ts';

/** The file of the folder that an import leads to; undefined for what is not in it, or cannot be told. */
export function resolveImport(
  { specifier, names }: Pick<GraphImport, 'specifier' | 'names'>,
  from: string,
  language: Language,
  view: ResolveView,
  context: ResolveContext,
): string | undefined {
  switch (language) {
    case 'typescript':
    case 'tsx':
    case 'javascript':
      return resolveScript(specifier, from, view, context);
    case 'python':
      return resolvePython(specifier, names, from, view);
    case 'go':
      return resolveGo(specifier, view, context);
    case 'rust':
      return resolveRust(specifier, from, view, context);
    case 'java':
      return resolveJava(specifier, view);
    case 'markdown':
      return resolveMarkdown(specifier, from, view);
  }
}
