import { resolve } from 'node:path';
import type { Diagnostic } from '../diagnostic.ts';
import type { Files } from '../files/files.ts';
import { isInside } from '../files/project-root.ts';
import type { IssuePath } from '../issue.ts';
import { quoted } from '../printable.ts';
import type { ReadDocument } from '../read-manifests.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import { outsideProject } from './project-findings.ts';

interface Surroundings {
  /** Of the file that holds the document. */
  readonly folder: string;
  readonly realRoot: string;
  readonly shownRoot: string;
  readonly files: Pick<Files, 'exists' | 'realPath'>;
}

interface NamedFile {
  readonly path: IssuePath;
  readonly file: string;
}

/**
 * Files that are not manifests and are opened only by a run: modules of tools and artifacts, transcripts of scripted
 * models. One outside the project is an error; one that is not there is a warning, since a build may yet make it.
 */
export async function checkNamedFiles(
  document: ReadDocument,
  kind: string | undefined,
  { folder, realRoot, shownRoot, files }: Surroundings,
  /** Whoever loads what is named says that it is missing. */
  isLoaded = false,
): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const { path, file } of namedFiles(documentNode(document.value), kind)) {
    const at = { path, at: 'value' } as const;
    const absolute = resolve(folder, file);
    if (!isInside(await files.realPath(absolute), realRoot))
      found.push(document.diagnose(at, outsideProject(file, shownRoot)));
    else if (!isLoaded && !(await files.exists(absolute)))
      found.push(
        document.diagnose(at, {
          severity: 'warning',
          code: 'file_missing',
          message: `The file ${quoted(file)} does not exist yet.`,
          hint: 'Create it, or correct the path. It is relative to this manifest.',
        }),
      );
  }
  return found;
}

function namedFiles(root: DocumentNode, kind: string | undefined): readonly NamedFile[] {
  const places =
    kind === 'Tool'
      ? [root.at('implementation').at('module')]
      : kind === 'Artifact'
        ? [root.at('module')]
        : kind === 'Agent'
          ? [
              root.at('model'),
              ...root
                .at('models')
                .entries()
                .map(([, model]) => model),
            ]
          : [];
  return places.flatMap((place) => {
    const text = place.text() ?? '';
    const file = kind === 'Agent' ? /^scripted:(.+)$/s.exec(text)?.[1] : text;
    const isPath = file !== undefined && file !== '' && !/[\0\n]|\$\{/.test(file);
    return isPath && isLocal(file) ? [{ path: place.path, file }] : [];
  });
}

/** A bare name is a package's; a path begins with a dot, a slash, or has an extension of a file. */
const isLocal = (file: string) => /^[./]/.test(file) || /\.[cm]?[jt]s$|\.ya?ml$|\.json$/.test(file);
