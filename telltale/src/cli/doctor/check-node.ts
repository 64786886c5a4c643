import type { Check } from './check.ts';

/** `engines` of the package. */
const WANTED = [22, 13] as const;

/** The bin has refused a Node that is too old, so this mostly says which one it is and where it comes from. */
export const checkNode: Check = async ({ machine: { node } }) => {
  const [major = 0, minor = 0] = node.version.split('.').map(Number);
  const isNew = major > WANTED[0] || (major === WANTED[0] && minor >= WANTED[1]);
  const detail = `${node.version}, ${originOf(node.path)} (${node.path})`;
  if (isNew) return [{ name: 'Node', status: 'ok', detail }];
  const fix = `Install Node ${WANTED.join('.')} or later: https://nodejs.org`;
  return [{ name: 'Node', status: 'fail', detail, fix }];
};

function originOf(path: string): string {
  if (/[\\/]node_modules[\\/]/.test(path)) return "the project's own";
  const [manager] = /nvm|fnm|volta|asdf|mise|homebrew|nodenv/i.exec(path) ?? [];
  return manager === undefined ? "the system's" : `of ${manager.toLowerCase()}`;
}
