import { useCallback, useEffect, useState } from 'react';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import { useData } from '../data/use-data.ts';
import { useNow } from '../data/use-now.ts';
import { Button } from '../ui/button.tsx';
import { cx } from '../ui/class-names.ts';
import { Icon } from '../ui/icon.tsx';

/** How often an unreachable server is tried again. */
const RETRY_MS = 2_000;

interface Reload {
  /** Whether the server answered the last request. Undefined before the first answer. */
  readonly isReachable: boolean | undefined;
  readonly isAsking: boolean;
  readonly ask: () => Promise<boolean>;
  /** Reloads the console once the server answers. */
  readonly reload: () => void;
}

/**
 * Reloads the console. Without a server, a reload would show the browser's own error page, so the server is tried
 * first.
 */
function useReload(): Reload {
  const { client } = useData();
  const [isReachable, setReachable] = useState<boolean>();
  const [isAsking, setAsking] = useState(false);
  const ask = useCallback(async () => {
    setAsking(true);
    // Any answer means that it is there.
    const answered = await client.health().then(
      () => true,
      (thrown) => toRuntimeError(thrown).code !== 'server_unreachable',
    );
    setAsking(false);
    setReachable(answered);
    return answered;
  }, [client]);
  const reload = useCallback(() => {
    void ask().then((answered) => {
      if (answered) location.reload();
    });
  }, [ask]);
  useEffect(() => {
    if (isReachable !== false) return;
    const timer = setInterval(reload, RETRY_MS);
    return () => clearInterval(timer);
  }, [isReachable, reload]);
  return { isReachable, isAsking, ask, reload };
}

const AGAIN = `The console tries again every ${RETRY_MS / 1_000} seconds and reloads once the server answers.`;

/**
 * Shown if the code of a page could not be fetched. Browsers do not fetch it again, so the console must be reloaded.
 */
export function MissingCode({ error }: { readonly error: ErrorJson }) {
  const { isReachable, isAsking, ask, reload } = useReload();
  useEffect(() => void ask(), [ask]);
  return (
    <div role="alert" className="flex gap-3 rounded-lg border border-fail/40 bg-fail-soft p-4 text-body">
      <Icon name="offline" size={18} className="mt-0.5 text-fail" />
      <div className="min-w-0 flex-1">
        <p className="font-semibold">The code of this page could not be loaded.</p>
        <p className="mt-1" title={error.message}>
          {isReachable === false
            ? `The server does not answer. It may have been stopped. ${AGAIN}`
            : 'The server may have been updated since you opened the console. Reload the console.'}
        </p>
        <Button size="small" icon="refresh" className="mt-2" busy={isAsking} onClick={reload}>
          {isReachable === false ? 'Try again' : 'Reload'}
        </Button>
      </div>
    </div>
  );
}

export interface OfflineBannerProps {
  readonly error: ErrorJson;
  /** If undefined, it is not retried. */
  readonly retryAt: number | undefined;
}

/** Shown above every page while no events come. The page below shows what was last known. */
export function OfflineBanner({ error, retryAt }: OfflineBannerProps) {
  const now = useNow();
  const { isReachable, isAsking, reload } = useReload();
  const left = retryAt === undefined ? 0 : Math.ceil((retryAt - now) / 1_000) * 1_000;
  return (
    <div
      role="status"
      className="flex shrink-0 items-center gap-2.5 border-b border-wait/40 bg-wait-soft px-4 py-2 text-body"
    >
      <Icon name="offline" className="text-wait" />
      <p className="min-w-0 flex-1">
        <span className="font-semibold">The connection to the server is lost.</span>{' '}
        <span
          className={cx('text-ink-soft', retryAt !== undefined && 'max-sm:sr-only')}
          title={`${error.message} (${error.code})`}
        >
          {retryAt !== undefined
            ? 'You see the last known state.'
            : isReachable === false
              ? `The server does not answer. ${AGAIN}`
              : error.message}
        </span>
      </p>
      {retryAt === undefined ? (
        <Button size="small" icon="refresh" busy={isAsking} onClick={reload}>
          Reload
        </Button>
      ) : (
        // A screen reader would read the countdown every second.
        <p aria-hidden="true" className="shrink-0 text-ink-soft tabular-nums">
          {left > 0 ? `Next try in ${left / 1_000} s` : 'Trying now…'}
        </p>
      )}
    </div>
  );
}
