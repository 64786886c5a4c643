import type { IForbiddenRuleType } from 'dependency-cruiser';
import { CONSOLE_IMPORTS, FOLDERS, type FolderRule, PROCESS_READER } from './import-table.ts';

const SOURCE = '^telltale/src/';
const OURS = '^(telltale|console)/';
/** npm puts a package below a workspace when another version of it is at the root. */
const PACKAGES = '(^|/)node_modules/';

/** The table as dependency-cruiser rules. */
export function importRules(): IForbiddenRuleType[] {
  return [
    ...Object.entries(FOLDERS).flatMap(([name, rule]) => rulesOf(name, rule)),
    {
      name: 'console-imports',
      comment: `console/ may import only ${CONSOLE_IMPORTS.join(', ')} of the runtime.`,
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^telltale/', pathNot: [`^telltale/(src|dist)/${anyOf(CONSOLE_IMPORTS)}/`, PACKAGES] },
    },
    {
      name: 'process-reader',
      comment: `Only ${PROCESS_READER}/ reads the process.`,
      severity: 'error',
      from: { path: SOURCE, pathNot: `${SOURCE}${PROCESS_READER}/` },
      to: { path: '^(node:)?process$' },
    },
    {
      name: 'no-cycle',
      comment: 'An import cycle, even of types only, means that no file in it can be read on its own.',
      severity: 'error',
      from: { path: '^(telltale/src|console)/' },
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'This import does not resolve.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ];
}

function rulesOf(name: string, { imports, onlyPackages }: FolderRule): IForbiddenRuleType[] {
  const from = { path: `${SOURCE}${name}/` };
  const imported: IForbiddenRuleType = {
    name: `${name}-imports`,
    comment: `${name}/ may import ${imports.length === 0 ? 'no other folder' : `only ${imports.join(', ')}`}.`,
    severity: 'error',
    from,
    to: { path: OURS, pathNot: [`${SOURCE}${anyOf([name, ...imports])}/`, PACKAGES] },
  };
  if (onlyPackages === undefined) return [imported];
  const allowed = onlyPackages.length === 0 ? [] : [`${PACKAGES}${anyOf(onlyPackages)}/`];
  return [
    imported,
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
