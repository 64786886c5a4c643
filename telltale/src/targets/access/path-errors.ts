import { RuntimeError } from '../../kernel/runtime-error.ts';
import { listed } from '../../manifest/permissions/decide.ts';
import { clip } from '../../manifest/schema/show-value.ts';

export const badPath = (path: string, why: string) =>
  new RuntimeError('bad_parameters', `The path ${JSON.stringify(clip(path))} ${why}.`, {
    hint: "Give a path relative to the agent's folder.",
  });

export const outsidePaths = (path: string, real: string, permitted: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The path "${clip(path, 200)}" leads to "${clip(real, 200)}", which is outside the permitted paths.`,
    {
      hint: `Permitted: ${listed(permitted.map((path) => JSON.stringify(path)))}. They are set in "permissions: { paths }" of the agent's manifest.`,
    },
  );

export const deniedPath = (path: string, entry: string) =>
  new RuntimeError('not_permitted', `This agent is not allowed to use the path "${clip(path, 200)}".`, {
    hint: `The agent's manifest denies it: "permissions: { paths: { deny: [${clip(entry, 200)}] } }".`,
  });

export const ownPath = (path: string) =>
  new RuntimeError('not_permitted', `"${clip(path, 200)}" belongs to the runtime's own store.`, {
    hint: 'No agent can use it, whatever its manifest says. Use a relic to keep data.',
  });

export const askedPath = (path: string, real: string) =>
  new RuntimeError(
    'not_permitted',
    `The use of "${clip(path, 200)}" ("${clip(real, 200)}") needs approval, but nobody could be asked.`,
    { hint: 'It is listed in "permissions: { paths: { ask } }" of the agent\'s manifest.' },
  );

export const movedPath = (shown: string) =>
  new RuntimeError(
    'not_permitted',
    `"${clip(shown, 200)}" changed while it was opened. A folder on its path is now a link.`,
    { hint: 'Check what is there, and use the real path.' },
  );

export function cannotFollow(path: string, at: string, cause: NodeJS.ErrnoException): RuntimeError {
  const shown = clip(path, 200);
  switch (cause.code) {
    case 'ENOTDIR':
      return new RuntimeError(
        'file_missing',
        `The path "${shown}" goes through a file at "${clip(at, 200)}".`,
        { cause },
      );
    case 'ENAMETOOLONG':
      return badPath(path, 'has a name in it that is too long for the system');
    case 'EACCES':
    case 'EPERM':
      return new RuntimeError('file_denied', `"${shown}" cannot be looked up: permission denied.`, {
        hint: 'Check the owner and the mode of the folders on the path.',
        cause,
      });
    default:
      return new RuntimeError(
        'not_permitted',
        `The path "${shown}" cannot be followed: "${clip(at, 200)}" is a link that leads nowhere, or back to itself.`,
        { hint: 'Use the path that the link should lead to, or remove the link.', cause },
      );
  }
}
