import { parseAllDocuments, stringify } from 'yaml';
import { main } from '../../../src/cli/main.ts';
import type { Entry } from '../../../src/importers/report.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { recordedIo } from '../recorded-io.ts';

const UNKNOWN = 'key_of_tomorrow';

type Path = readonly (string | number)[];

const mapsIn = (value: unknown, path: Path = []): readonly Path[] => {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, each]) => mapsIn(each, [...path, key]));
  return Array.isArray(value) ? inner : [path, ...inner];
};

/** The documents with an unknown key in one of their maps. */
function withUnknown(documents: readonly unknown[], nth: number, path: Path): readonly unknown[] {
  const copy = structuredClone(documents);
  let map = copy[nth] as Record<string | number, unknown>;
  for (const part of path) map = map[part] as Record<string | number, unknown>;
  map[UNKNOWN] = UNKNOWN;
  return copy;
}

/**
 * The maps in these files where the import drops an unknown key silently: neither its report nor a manifest names the
 * key, and the report leaves out nothing that contains it.
 */
export async function silentMaps(
  format: string,
  project: Readonly<Record<string, string>>,
  files: readonly string[],
): Promise<readonly string[]> {
  const silent: string[] = [];
  for (const file of files) {
    const documents = parseAllDocuments(project[file] ?? '').map((each) => each.toJS() as unknown);
    for (const [nth, document] of documents.entries())
      for (const path of mapsIn(document)) {
        const changed = withUnknown(documents, nth, path);
        const text = file.endsWith('.json')
          ? JSON.stringify(changed[0])
          : changed.map((each) => stringify(each)).join('---\n');
        const cwd = temporaryProject({ 'package.json': '{}', ...project, [file]: text });
        const io = recordedIo({ cwd });
        await main(['import', format, '.', '--dry-run', '--json'], io);
        const report = JSON.parse(io.out()) as { files: { entries?: readonly Entry[] }[] };
        const left = report.files
          .flatMap(({ entries = [] }) => entries)
          .flatMap(({ outcome, construct }) => (outcome === 'left' ? [construct.split('.').at(-1)] : []));
        if (!io.out().includes(UNKNOWN) && !path.some((part) => left.includes(String(part))))
          silent.push(`${file} ${path.join('.')}`);
      }
  }
  return silent;
}
