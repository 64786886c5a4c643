import { useCallback, useEffect, useState } from 'react';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import type { QuarantineNote } from '../../../../telltale/src/log/session-summary.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';

export interface ReleaseButtonProps {
  readonly kind: 'session' | 'run';
  readonly id: string;
  readonly how: QuarantineNote['release'];
  readonly onReleased: () => void;
  /** Called if it cannot be released because its manifest has changed. */
  readonly onChanged?: (() => void) | undefined;
}

/** Releases a session or run from quarantine: resumes it, or lets the fleet's workers try again. */
export function ReleaseButton({ kind, id, how, onReleased, onChanged }: ReleaseButtonProps) {
  const { toasts, sessions, runs } = useData();
  const blocked = useBlocked(how === 'retry' ? 'admin' : 'run');
  const release = useCall(async (client, options) => {
    if (how === 'retry') await client.retryStream(id, options);
    else if (kind === 'run') await client.resumeRun(id, {}, options);
    else await client.resumeSession(id, {}, options);
    return 'released';
  });
  const isChanged = release.error?.code === 'manifest_changed';
  useEffect(() => {
    if (isChanged) onChanged?.();
  }, [isChanged, onChanged]);
  const onClick = async () => {
    if ((await release.run()) === undefined) return;
    toasts.say('done', how === 'retry' ? 'The workers will retry it.' : `The ${kind} continues.`);
    sessions.refresh();
    runs.refresh();
    onReleased();
  };
  return (
    <>
      <Button
        size="small"
        icon={how === 'retry' ? 'refresh' : 'play'}
        aria-label={`${how === 'retry' ? 'Retry' : 'Resume'} ${id}`}
        busy={release.busy}
        blocked={blocked}
        onClick={() => void onClick()}
      >
        {how === 'retry' ? 'Retry' : 'Resume'}
      </Button>
      {release.error === undefined ? null : (
        <p role="alert" className="basis-full text-small break-words text-fail">
          {release.error.message} {release.error.hint ?? ''}
        </p>
      )}
    </>
  );
}

export interface QuarantineNoticeProps {
  readonly kind: 'session' | 'run';
  readonly id: string;
  /** The last known event. If new events come, the quarantine is read again. */
  readonly seq: number;
  readonly onReleased: () => void;
  /** For a run with a changed workflow: shows what the change means for it, and asks. */
  readonly onShowChanges?: () => void;
}

/** Why a session or run is quarantined. Undefined if it is not, or if that is not known yet. */
export function useQuarantine(kind: 'session' | 'run', id: string, seq: number) {
  const summary = useLoaded(`quarantine ${kind} ${id}`, async (client, signal) => {
    const { seq, quarantine } = await (kind === 'run'
      ? client.run(id, { signal })
      : client.session(id, { signal }));
    return { seq, quarantine };
  });
  const { reload } = summary;
  const quarantine = summary.kind === 'ready' ? summary.value.quarantine : undefined;
  const isOld = summary.kind === 'ready' && summary.value.seq < seq && quarantine !== undefined;
  useEffect(() => {
    if (isOld) reload();
  }, [isOld, reload]);
  return { quarantine, reload };
}

/** Says that nobody works on a session or run, why, and how to release it. Shows nothing if it is not quarantined. */
export function QuarantineNotice(props: QuarantineNoticeProps) {
  const { kind, id, seq, onReleased, onShowChanges } = props;
  const [isRefused, setRefused] = useState(false);
  const onChanged = useCallback(() => setRefused(true), []);
  const blocked = useBlocked('run');
  const { quarantine, reload } = useQuarantine(kind, id, seq);
  if (quarantine === undefined) return null;
  const { why, at, release, code } = quarantine;
  return (
    <div
      role="status"
      className="flex shrink-0 flex-wrap items-center gap-2.5 rounded-lg border border-fail/40 bg-fail-soft px-3 py-2"
    >
      <Icon name="stop" className="text-fail" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="break-words">
          <strong className="font-semibold">This {kind} is quarantined.</strong> {visibleText(why)}
        </p>
        <p className="text-small text-ink-soft">
          {release === 'retry'
            ? 'No worker can continue it. Fix the cause, then retry.'
            : 'It does not start again by itself. Messages to it are kept. Read its log before you resume it.'}{' '}
          Since <RelativeTime at={at} />.
        </p>
      </div>
      {onShowChanges !== undefined && (isRefused || code === 'manifest_changed') ? (
        <Button size="small" blocked={blocked} onClick={onShowChanges}>
          Show the changes
        </Button>
      ) : null}
      <ReleaseButton
        {...{ kind, id, how: release, onChanged }}
        onReleased={() => {
          reload();
          onReleased();
        }}
      />
    </div>
  );
}
