import { MAX_NAME_LENGTH } from '../manifest/schema/values.ts';

/** Names that were given out, so that none is given twice. */
export interface Names {
  /** The name as it is, where it can be; else one like it. */
  take(wanted: string): string;
}

/** Room for a number behind a name. */
const LONGEST = MAX_NAME_LENGTH - 8;

export function createNames(separator: '-' | '_' = '-'): Names {
  const given = new Set<string>();
  return {
    take(wanted) {
      let name = wanted;
      for (let nth = 2; given.has(name); nth++) name = `${wanted}${separator}${nth}`;
      given.add(name);
      return name;
    },
  };
}

/** An id of WorkRail's as a name of ours: no dot, no digit in front. */
export function nameOf(id: string): string {
  const name = id.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, LONGEST);
  return /^[A-Za-z_]/.test(name) ? name : `step-${name}`;
}

/** What means something else where a variable's name stands bare. */
const TAKEN = new Set(
  (
    'agent steps vars run trigger input item metadata error output in true false null as break const continue else for ' +
    'function if import let loop package namespace return var void while int double bool string list map type bytes uint ' +
    'timestamp duration dyn has size cel'
  ).split(' '),
);

/** The name of a variable as one that can stand bare in CEL. */
export function identifierOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]+/g, '_').slice(0, LONGEST);
  if (TAKEN.has(plain)) return `${plain}_`;
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

/** Names that were given out over all files of one import: manifests of a kind have different ones. */
export interface NamesTaken {
  readonly agents: Names;
  readonly workflows: Names;
  readonly tools: Names;
  readonly artifacts: Names;
  readonly folders: Names;
}

export const createTaken = (): NamesTaken => ({
  agents: createNames('_'),
  workflows: createNames('_'),
  tools: createNames('_'),
  artifacts: createNames('_'),
  folders: createNames('_'),
});
