import { z } from '@hono/zod-openapi';
import type {
  AuditEntry,
  CreatedToken,
  CreateToken,
  Health,
  MemoryQueryInfo,
  NotificationInfo,
  Readiness,
  TokenInfo,
  Whoami,
} from '../../../client/api.ts';
import { answered, asked, count, pageOf, role, type Shape, text, time } from './wire.ts';

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
