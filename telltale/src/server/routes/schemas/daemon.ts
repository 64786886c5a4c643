import { z } from '@hono/zod-openapi';
import type {
  AnswerReview,
  ArtifactInfo,
  ArtifactSource,
  ArtifactTestResult,
  AuditEntry,
  CreatedToken,
  CreateToken,
  Health,
  MemoryQueryInfo,
  NotificationInfo,
  Readiness,
  ReviewDetailsInfo,
  ReviewInfo,
  TestArtifact,
  TokenInfo,
  Whoami,
  WriteArtifact,
} from '../../../client/api.ts';
import type { JsonObject } from '../../../lib/json.ts';
import type { DecisionContext } from '../../../tools/artifacts/artifacts.ts';
import { answered, asked, count, json, jsonObject, pageOf, role, type Shape, text, time } from './wire.ts';

export const health = answered<Health>('Health', {
  status: z.literal('ok'),
  version: text,
  uptime_ms: z.number(),
});

export const readiness = answered<Readiness>('Readiness', {
  ready: z.boolean(),
  reason: text.optional(),
});

export const whoami = answered<Whoami>('Whoami', {
  name: text.openapi({ description: "The token's name; with the server's own token, who started it." }),
  by: text.openapi({ description: 'How logs sign what this token does.', example: 'token:ci' }),
  role,
  version: text,
  dev: z.boolean(),
  store: text,
});

export const NOTIFICATION_STATUSES = ['sent', 'waiting', 'dead'] as const;

export const notification = answered<NotificationInfo>('Notification', {
  id: text,
  at: time,
  channel: text,
  kind: z.enum(['webhook', 'desktop', 'command']),
  agent: text,
  about: text,
  message: text,
  stream: text.optional(),
  seq: count.optional(),
  status: z.enum(NOTIFICATION_STATUSES),
  attempts: count,
  nextAt: time.optional(),
  error: text.optional(),
});

export const notificationPage = pageOf('NotificationPage', notification);

export const auditPage = pageOf(
  'AuditPage',
  answered<AuditEntry>('AuditEntry', {
    n: count,
    at: time,
    who: text,
    role,
    what: text.openapi({ example: 'POST /sessions' }),
    about: text.optional(),
    status: z.int(),
  }),
);

const tokenShape: Shape<TokenInfo> = {
  name: text,
  role,
  createdAt: time,
  createdBy: text.optional(),
  lastUsedAt: time.optional(),
  claims: text.optional(),
};

export const tokenPage = pageOf('TokenPage', answered<TokenInfo>('Token', tokenShape));

export const createdToken = answered<CreatedToken>('CreatedToken', {
  ...tokenShape,
  token: text.openapi({ description: 'Shown this once: only its hash is kept.' }),
});

const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const createToken = asked<CreateToken>('CreateToken', {
  name: z.string().regex(TOKEN_NAME, 'is of letters, digits, ".", "_" and "-", 64 at the most'),
  role,
});

const MAX_QUERY = 10_000;

export const memoryQuery = asked<MemoryQueryInfo>('MemoryQuery', {
  agent: z.string().min(1).openapi({ description: 'The agent whose graph is asked.' }),
  query: z.string().min(1).max(MAX_QUERY).optional(),
  symbol: z.string().min(1).max(MAX_QUERY).optional(),
  path: z.string().min(1).max(MAX_QUERY).optional(),
  depth: z.int().min(0).max(10).optional(),
  limit: z.int().min(1).max(1_000).optional(),
});

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

/** Unknown keys are rejected, because the artifact would see them here, but never in a run. */
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

const infoShapeReviews: Shape<ReviewInfo> = {
  review: text,
  kind: z.enum(['permission', 'approval', 'confirm', 'plan', 'escalation']),
  of: z.enum(['session', 'run']),
  session: text.openapi({ description: 'The id of the session or run.' }),
  agent: text,
  workflow: text.optional(),
  parent: text.optional(),
  above: z.array(text).optional().openapi({
    description: 'The sessions and runs above it, the closest first: who called or triggered it.',
  }),
  action: text,
  target: text,
  what: text,
  parameters: text.optional(),
  because: text,
  uncovered: z.array(text).optional().openapi({
    description: 'Why the call may run files that an approval does not cover.',
  }),
  always: text.optional().openapi({
    description: 'What it may be approved for, for the rest of the session.',
  }),
  options: z.array(text).optional(),
  assignee: text.optional(),
  due: time.optional(),
  at: time,
};

export const reviewPage = pageOf('ReviewPage', answered<ReviewInfo>('Review', infoShapeReviews));

export const reviewDetails = answered<ReviewDetailsInfo>('ReviewDetails', {
  ...infoShapeReviews,
  input: jsonObject.optional(),
  plan: z.array(jsonObject).optional(),
  files: z
    .array(z.object({ path: text, content: text, leads: z.exactOptional(text) }))
    .optional()
    .openapi({ description: 'The files that an approval covers, each with the hash of its content.' }),
  replaces: z.object({ review: text, changed: z.array(text) }).optional(),
  answer: text.optional().openapi({
    description: '`approved`, `rejected` or `withdrawn`; absent while it is open.',
  }),
  choice: text.optional(),
  by: text.optional(),
  note: text.optional(),
  answeredAt: time.optional(),
  forSession: z.boolean().optional().openapi({ description: 'Approved for the rest of the session.' }),
});

export const answerReview = asked<AnswerReview>('AnswerReview', {
  answer: z.enum(['approved', 'rejected']).optional(),
  choice: text.optional().openapi({ description: "One of the review's options." }),
  text: text.optional().openapi({
    description: 'An option in so many words; on an escalation, what the agent is told to try again with.',
  }),
  note: text.optional(),
  always: z.boolean().optional().openapi({
    description: 'With an approval: for the rest of the session, where the review has `always`.',
  }),
});
