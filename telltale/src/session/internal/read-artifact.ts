import { artifactUnknown, versionUnknown } from '../../targets/artifacts/artifact-errors.ts';
import { mayNotRead } from './artifact-access.ts';
import type { Definition } from './definition.ts';

const MAX_LISTED = 500;

export const readArtifact: Definition = {
  name: 'read_artifact',
  description:
    'Shows the source, methods, version and author of a decision artifact. Without "name" it lists all artifacts.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      version: { type: 'integer', minimum: 1, description: 'Default: the newest.' },
    },
    additionalProperties: false,
  },
  useless: mayNotRead,
  run: async (input, { desk }) => {
    const { name, version } = input as { name?: string; version?: number };
    const { artifacts } = await desk();
    if (name === undefined) return { artifacts: (await artifacts.names()).slice(0, MAX_LISTED) };
    const newest = await artifacts.read(name);
    if (newest === undefined) throw artifactUnknown(name, await artifacts.names());
    const found = version === undefined ? newest : await artifacts.read(name, version);
    if (found === undefined) throw versionUnknown(name, version ?? 0, newest.version);
    return {
      ...found,
      methods: [...found.methods],
      at: new Date(found.at).toISOString(),
      newest: newest.version,
    };
  },
};
