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
    `The path "${clip(path, 200)}" leads to "${clip(real, 200)}", outside the permitted paths.`,
    {
      hint: `Permitted: ${listed(permitted.map((path) => JSON.stringify(path)))}. The agent's manifest says so in "permissions: { paths }".`,
    },
  );

export const deniedPath = (path: string, entry: string) =>
  new RuntimeError('not_permitted', `The path "${clip(path, 200)}" is denied to this agent.`, {
    hint: `The agent's manifest says "permissions: { paths: { deny: [${clip(entry, 200)}] } }".`,
  });

export const ownPath = (path: string) =>
  new RuntimeError('not_permitted', `"${clip(path, 200)}" belongs to the runtime's own store.`, {
    hint: 'No agent touches it, whatever its manifest says; what it is to keep belongs into a relic.',
  });

export const askedPath = (path: string, real: string) =>
  new RuntimeError(
    'not_permitted',
    `A person has to approve the use of "${clip(path, 200)}" ("${clip(real, 200)}"), and nobody was asked.`,
    { hint: 'The agent\'s manifest names it in "permissions: { paths: { ask } }".' },
  );

export const movedPath = (shown: string) =>
  new RuntimeError(
    'not_permitted',
    `"${clip(shown, 200)}" became something else while it was opened: a folder on its way is a link now.`,
    { hint: 'Look at what is there, and name the place itself.' },
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
      return new RuntimeError('file_denied', `The system does not let "${shown}" be looked up.`, {
        hint: 'The owner or the mode of a folder on the way forbids it.',
        cause,
      });
    default:
      return new RuntimeError(
        'not_permitted',
        `The path "${shown}" cannot be followed: "${clip(at, 200)}" is a link that leads nowhere or to itself.`,
        { hint: 'Use the path that the link should lead to, or remove the link.', cause },
      );
  }
}
