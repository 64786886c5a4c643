import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { SESSION_TEMPLATES, type SessionResources } from './session-resources.ts';

type Types = typeof import('@modelcontextprotocol/sdk/types.js');

/** Resources that one client may follow at a time. */
const MAX_SUBSCRIPTIONS = 1_000;
/** What the protocol says of a resource that is not there. */
const RESOURCE_NOT_FOUND = -32_002;

/** Answers what a client asks of resources, and tells it of changes to those that it follows. */
export function handleResources(
  server: Server,
  { McpError, ErrorCode, ...types }: Types,
  resources: SessionResources,
  onError: (error: unknown) => void,
): void {
  const followed = new Map<string, () => void>();
  const refused = (thrown: unknown) => {
    if (!(thrown instanceof RuntimeError)) return thrown;
    const code = thrown.code === 'resource_unknown' ? RESOURCE_NOT_FOUND : ErrorCode.InvalidParams;
    return new McpError(code, `${thrown.message} ${thrown.hint ?? ''}`.trim());
  };
  const answering = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw refused(thrown);
    }
  };
  server.setRequestHandler(types.ListResourcesRequestSchema, ({ params }) =>
    answering(() => resources.list(params?.cursor)),
  );
  server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...SESSION_TEMPLATES],
  }));
  server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) =>
    answering(() => resources.read(uri)),
  );
  server.setRequestHandler(types.SubscribeRequestSchema, ({ params: { uri } }) =>
    answering(async () => {
      if (followed.has(uri)) return {};
      if (followed.size >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions();
      let isDue = false;
      const tell = () => {
        isDue = false;
        server.sendResourceUpdated({ uri }).catch(onError);
      };
      const unwatch = await resources.watch(uri, () => {
        // What moves in one go is told once.
        if (!isDue) setImmediate(tell);
        isDue = true;
      });
      followed.set(uri, unwatch);
      return {};
    }),
  );
  server.setRequestHandler(types.UnsubscribeRequestSchema, ({ params: { uri } }) => {
    followed.get(uri)?.();
    followed.delete(uri);
    return {};
  });
  server.onclose = () => {
    for (const unwatch of followed.values()) unwatch();
    followed.clear();
  };
}

const tooManySubscriptions = () =>
  new RuntimeError('too_many_subscriptions', `${MAX_SUBSCRIPTIONS} resources are followed already.`, {
    hint: 'Unsubscribe from some.',
  });
