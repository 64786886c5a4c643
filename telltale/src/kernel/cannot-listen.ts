import { RuntimeError } from './runtime-error.ts';

/** What a system says when an address cannot be listened on. */
interface ListenFailure {
  readonly code?: string | undefined;
  readonly message: string;
}

export const cannotListen = (host: string, port: number, cause: ListenFailure) =>
  new RuntimeError(
    'cannot_listen',
    `Nothing can be served at ${host}:${port} (${cause.code ?? cause.message}).`,
    {
      hint:
        cause.code === 'EADDRINUSE'
          ? 'Something else is there: name another port, or 0 for a free one.'
          : 'Name another --host or port.',
      cause,
    },
  );
