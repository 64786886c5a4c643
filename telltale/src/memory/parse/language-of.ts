import type { Language } from '../memory.ts';

const BY_EXTENSION: Readonly<Record<string, Language>> = {
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  tsx: 'tsx',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'javascript',
  py: 'python',
  pyi: 'python',
  go: 'go',
  rs: 'rust',
  java: 'java',
  md: 'markdown',
  markdown: 'markdown',
};

/** The language of a file by its extension, in any case; undefined where there is none that can be read. */
export function languageOf(path: string): Language | undefined {
  const dot = path.lastIndexOf('.');
  if (dot === -1) return undefined;
  const extension = path.slice(dot + 1).toLowerCase();
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
}
