import { basename } from 'node:path';

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Windows has devices of these names in every folder, and npm takes none of the last two. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d|node_modules|telltale)$/i;

export const isProjectName = (name: string): boolean => NAME.test(name) && !RESERVED.test(name);

/** A name made of the folder's: `My Agent (2)` is `my_agent_2`. */
export function nameOfFolder(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+|_+$/g, '');
  return isProjectName(name) ? name : 'my_agent';
}
