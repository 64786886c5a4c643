import { z } from '@hono/zod-openapi';
import type {
  ArtifactInfo,
  ArtifactSource,
  ArtifactTestResult,
  TestArtifact,
  WriteArtifact,
} from '../../../client/api.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { DecisionContext } from '../../../targets/artifacts/artifacts.ts';
import { answered, asked, json, jsonObject, pageOf, type Shape, text, time } from './wire.ts';

const version = z.int().positive();

const infoShape: Shape<ArtifactInfo> = {
  name: text,
  version,
  methods: z.array(text),
  description: text.optional(),
  author: text,
  parent: version.optional().openapi({ description: 'The version that it was made from.' }),
  restores: version.optional().openapi({ description: 'The version that it puts back.' }),
  at: time,
};

export const artifactPage = pageOf('ArtifactPage', answered<ArtifactInfo>('Artifact', infoShape));

export const artifactSource = answered<ArtifactSource>('ArtifactVersion', { ...infoShape, source: text });

export const artifactVersions = pageOf('ArtifactVersions', artifactSource);

export const writeArtifact = asked<WriteArtifact>('WriteArtifact', {
  source: text,
  methods: z.array(text).min(1).openapi({ description: 'The functions of the source that may be asked.' }),
  description: text.optional(),
});

export const rollbackArtifact = asked<{ readonly to: number }>('RollbackArtifact', { to: version });

/** A key that no run's context has would be seen by the artifact here, and nowhere else. */
const context = z
  .strictObject({
    agent_id: json,
    current_state: json,
    step_name: json,
    balance: json,
    success_rate: json,
    recent_actions: json,
    last_result: json,
    metadata: json,
    variables: json,
  } satisfies Record<keyof DecisionContext, z.ZodType>)
  .partial()
  .openapi({ description: 'What it sees of its run, in place of the defaults.' });

export const testArtifact = asked<TestArtifact>('TestArtifact', {
  method: text,
  args: z.array(json).optional(),
  context: context.optional() as unknown as z.ZodType<JsonObject | undefined>,
  seed: text.optional(),
  version: version.optional(),
  source: text.optional().openapi({ description: "In place of a version's: what a draft would say." }),
});

export const artifactTested = answered<ArtifactTestResult>('ArtifactTested', {
  ok: z.boolean(),
  value: json.optional(),
  meant: json.optional().openapi({ description: 'What the answer stands for: {decision: false} is false.' }),
  reason: text.optional(),
  message: text.optional(),
  ms: z.number(),
  context: jsonObject,
});
