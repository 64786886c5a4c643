import { resolve } from 'node:path';
import type { Diagnostic, Finding } from '../diagnostic.ts';
import type { Files } from '../files/files.ts';
import { isInside } from '../files/project-root.ts';
import type { Ask } from './ask.ts';
import { globComplexity } from './glob-complexity.ts';
import { splitGlob } from './import-entries.ts';
import type { ImportLink } from './project-document.ts';
import {
  globClimbs,
  globMatchesNothing,
  globTooComplex,
  globTooWide,
  globUnreadable,
  outsideProject,
} from './project-findings.ts';

interface Surroundings {
  /** Of the manifest that imports. */
  readonly folder: string;
  readonly realRoot: string;
  readonly shownRoot: string;
  readonly files: Files;
  readonly label: (path: string) => string;
  readonly signal: AbortSignal | undefined;
}

/** Which files an entry of `import` asks for. Nothing outside the root is so much as looked at. */
export async function resolveEntry(
  link: ImportLink,
  around: Surroundings,
): Promise<{ readonly asks: readonly Ask[]; readonly diagnostics: readonly Diagnostic[] }> {
  const { entry, owner } = link;
  const report = (finding: Finding) =>
    owner.document.diagnose({ path: ['import', entry.list, entry.index], at: 'value' }, finding);
  const found = (file: string) => {
    if (!link.files.includes(file)) link.files.push(file);
  };
  const fail = (finding: Finding) => ({ asks: [], diagnostics: [report(finding)] });
  const { what } = entry;
  switch (what.type) {
    case 'builtin':
    case 'mcp':
      return { asks: [], diagnostics: [] };
    case 'wrong':
      return fail(what.finding);
    case 'file':
      return askFor(what.path);
    case 'glob': {
      if (await around.files.exists(resolve(around.folder, what.pattern))) return askFor(what.pattern);
      const matches = await matchesOf(what.pattern, around);
      if (!Array.isArray(matches)) return fail(matches as Finding);
      if (matches.length === 0) return fail(globMatchesNothing(what.pattern));
      return {
        asks: matches.map((path: string) => ({ path, called: around.label(path), report, found })),
        diagnostics: [],
      };
    }
  }

  async function askFor(called: string) {
    const path = resolve(around.folder, called);
    const isOut = !isInside(await around.files.realPath(path), around.realRoot);
    return isOut
      ? fail(outsideProject(called, around.shownRoot))
      : { asks: [{ path, called, report, found }], diagnostics: [] };
  }
}

async function matchesOf(pattern: string, around: Surroundings): Promise<readonly string[] | Finding> {
  const parts = splitGlob(pattern);
  if (parts === undefined) return globClimbs(pattern);
  const refused = globComplexity(pattern);
  if (refused !== undefined) return globTooComplex(pattern, refused);
  const folder = resolve(around.folder, parts.folder);
  if (!isInside(await around.files.realPath(folder), around.realRoot))
    return outsideProject(pattern, around.shownRoot);
  const found = await around.files.glob(parts.rest, folder, around.signal);
  if (found.ok) return found.value;
  return found.error.type === 'too_many'
    ? globTooWide(pattern, found.error.limit)
    : globUnreadable(pattern, found.error.reason);
}
