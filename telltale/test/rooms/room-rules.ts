import type { IForbiddenRuleType } from 'dependency-cruiser';
import { CONSOLE_IMPORTS, PROCESS_READER, ROOMS, type Room } from './room-table.ts';

const SOURCE = '^telltale/src/';
const OURS = '^(telltale|console)/';
/** npm puts a package below a workspace when another version of it is at the root. */
const PACKAGES = '(^|/)node_modules/';

/** The table as rules of dependency-cruiser. */
export function roomRules(): IForbiddenRuleType[] {
  return [
    ...Object.entries(ROOMS).flatMap(([name, room]) => rulesOf(name, room)),
    {
      name: 'console-imports',
      comment: `console/ may import only ${CONSOLE_IMPORTS.join(', ')} of the runtime.`,
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^telltale/', pathNot: [`^telltale/(src|dist)/${anyOf(CONSOLE_IMPORTS)}/`, PACKAGES] },
    },
    {
      name: 'process-reader',
      comment: `Only the room ${PROCESS_READER} reads the process.`,
      severity: 'error',
      from: { path: SOURCE, pathNot: `${SOURCE}${PROCESS_READER}/` },
      to: { path: '^(node:)?process$' },
    },
    {
      name: 'no-cycle',
      comment: 'Files that import each other in a circle, be it only types, cannot be read one by one.',
      severity: 'error',
      from: { path: '^(telltale/src|console)/' },
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ];
}

function rulesOf(name: string, { imports, onlyPackages }: Room): IForbiddenRuleType[] {
  const from = { path: `${SOURCE}${name}/` };
  const rooms: IForbiddenRuleType = {
    name: `${name}-imports`,
    comment: `${name}/ may import ${imports.length === 0 ? 'no other room' : `only ${imports.join(', ')}`}.`,
    severity: 'error',
    from,
    to: { path: OURS, pathNot: [`${SOURCE}${anyOf([name, ...imports])}/`, PACKAGES] },
  };
  if (onlyPackages === undefined) return [rooms];
  const allowed = onlyPackages.length === 0 ? [] : [`${PACKAGES}${anyOf(onlyPackages)}/`];
  return [
    rooms,
    {
      name: `${name}-is-pure`,
      comment: `${name}/ runs in browsers too: no Node built-in${onlyPackages.length === 0 ? ', no npm package' : `; of npm packages only ${onlyPackages.join(', ')}`}.`,
      severity: 'error',
      from,
      to: { pathNot: [SOURCE, ...allowed] },
    },
  ];
}

const anyOf = (names: readonly string[]) => `(${names.join('|')})`;
