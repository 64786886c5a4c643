import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AgentDetails } from '../../client/api.ts';
import type { CatalogEntry } from '../catalog/agent-catalog.ts';

/** Files of an agent that are shown, and how large one may be. */
const MAX_FILES = 200;
const MAX_BYTES = 1_048_576;

/** The files that an agent consists of, as they are now. One that is gone or too large says so in place of its text. */
export async function agentFiles({ path, agent, problems }: CatalogEntry): Promise<AgentDetails['files']> {
  const imported = agent?.project.manifests.map(({ file }) => file) ?? [];
  const paths = new Set(
    [path, ...problems.map(({ file }) => file), ...imported].map((each) => resolve(each)),
  );
  return Promise.all(
    [...paths].slice(0, MAX_FILES).map(async (file) => ({ path: file, text: await textOf(file) })),
  );
}

async function textOf(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) return `# ${size} bytes: too large to be shown.\n`;
    return await readFile(file, 'utf8');
  } catch (thrown) {
    return `# It cannot be read: ${(thrown as Error).message}\n`;
  }
}
