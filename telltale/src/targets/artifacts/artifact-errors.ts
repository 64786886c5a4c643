import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { GENESIS_PREFIX } from './genesis.ts';

export const artifactUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('artifact_unknown', `No artifact is named "${name}".`, {
    hint:
      known.length === 0
        ? 'There are none in this store yet.'
        : suggest(name, known, 'Artifacts of this store'),
  });

export const versionUnknown = (name: string, version: number, newest: number) =>
  new RuntimeError('artifact_unknown', `The artifact "${name}" has no version ${version}.`, {
    hint: newest === 1 ? 'It has one version: 1.' : `Its versions are 1 to ${newest}.`,
  });

export const genesisFixed = (name: string) =>
  new RuntimeError('not_permitted', `The artifact "${name}" cannot be written.`, {
    hint: `Names that begin with "${GENESIS_PREFIX}" are the runtime's own: write yours under another name.`,
  });

export const badArtifactName = (name: string) =>
  new RuntimeError('bad_artifact', `"${name.slice(0, 200)}" is no name for an artifact.`, {
    hint: 'Names are of letters, digits, "_" and "-", begin with a letter or "_", and have 128 characters at most.',
  });

export const sourceTooLarge = (name: string, chars: number, most: number) =>
  new RuntimeError('bad_artifact', `The source of "${name}" has ${chars} characters; ${most} are allowed.`, {
    hint: 'A decision is small: leave out data, and take it from the context or the arguments.',
  });

export const tooManyMethods = (name: string, most: number) =>
  new RuntimeError('bad_artifact', `"${name}" names more than ${most} methods.`, {
    hint: 'Make several artifacts of it.',
  });

export const methodMissing = (name: string, method: string, found: readonly string[]) =>
  new RuntimeError('bad_artifact', `The source of "${name}" defines no function "${method}".`, {
    hint: `${found.length === 0 ? '' : `It defines: ${found.join(', ')}. `}Write "export function ${method}(argument, context) { … }".`,
  });

export const badMethodName = (name: string, method: string) =>
  new RuntimeError('bad_artifact', `"${method.slice(0, 200)}" is no name for a method of "${name}".`, {
    hint: 'A method is a function: letters, digits and "_", no word of the language, and no name that every object has.',
  });

export const badSource = (name: string, cause: RuntimeError) =>
  new RuntimeError('bad_artifact', `The source of "${name}" cannot be used. ${cause.message}`, {
    hint: cause.hint ?? 'Correct the source, and write it again.',
    cause,
  });

export const tooManyVersions = (name: string, most: number) =>
  new RuntimeError('bad_artifact', `The artifact "${name}" has ${most} versions already.`, {
    hint: 'Write it under another name.',
  });

export const writtenMeanwhile = (name: string) =>
  new RuntimeError('conflict', `The artifact "${name}" is being written by too many others at once.`, {
    hint: 'Read it again, then write.',
    retryable: true,
  });
