import { useEffect } from 'react';
import { Link } from 'wouter';
import type { FleetInfo, WorkerInfo } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import type { QuarantineNote } from '../../../../telltale/src/log/session-summary.ts';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { formatDuration } from '../../format/format-duration.ts';
import { plural } from '../../format/format-number.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { ReleaseButton } from '../log/quarantine.tsx';
import { runPath, sessionPath } from '../workflows/paths.ts';

/** How often the workers are read while somebody looks. */
const EVERY_MS = 3_000;

interface Quarantined {
  readonly kind: 'session' | 'run';
  readonly id: string;
  readonly title: string;
  readonly quarantine: QuarantineNote;
}

/** The worker processes, the queue, and what is quarantined. */
export function WorkersPanel() {
  const who = useReadable(useData().who);
  // A store of one machine has no fleet.
  const isShared = who.kind === 'known' && /^postgres(ql)?:/.test(who.who.store);
  const loaded = useLoaded(`workers ${isShared}`, async (client, signal) => {
    const query = { status: ['quarantined'], limit: 100 };
    const [fleet, sessions, runs] = await Promise.all([
      isShared ? client.fleet({ signal }) : undefined,
      client.sessions(query, { signal }),
      client.runs(query, { signal }),
    ]);
    const quarantined: Quarantined[] = [];
    for (const { id, agent, title, quarantine } of sessions.items)
      if (quarantine !== undefined)
        quarantined.push({ kind: 'session', id, title: `${agent}: ${title}`, quarantine });
    for (const { id, agent, workflow, quarantine } of runs.items)
      if (quarantine !== undefined)
        quarantined.push({ kind: 'run', id, title: `${agent} / ${workflow}`, quarantine });
    return { fleet, quarantined };
  });
  const { reload } = loaded;
  useEffect(() => {
    const timer = setInterval(reload, EVERY_MS);
    return () => clearInterval(timer);
  }, [reload]);
  if (loaded.kind === 'loading') return <Loading label="Reading the workers" />;
  if (loaded.kind === 'failed')
    return <ErrorState title="The workers could not be read." error={loaded.error} onRetry={reload} />;
  const { fleet, quarantined } = loaded.value;
  return (
    <div className="flex flex-col">
      {fleet === undefined ? (
        quarantined.length === 0 ? (
          <EmptyState icon="activity" title="This server works alone.">
            Its store is a file on this machine, so no other workers can join. Nothing is quarantined.
          </EmptyState>
        ) : (
          <p className="px-3 py-2 text-small text-ink-soft">
            This server works alone. Its store is a file on this machine.
          </p>
        )
      ) : (
        <FleetView fleet={fleet} />
      )}
      {quarantined.length === 0 ? null : (
        <section aria-label="Quarantined" className="border-t border-line">
          <h2 className="px-3 pt-3 pb-1 font-semibold">Quarantined</h2>
          <p className="px-3 pb-1 text-small text-ink-soft">
            These do not continue by themselves. Fix the cause, then resume them.
          </p>
          <ul className="divide-y divide-line">
            {quarantined.map((each) => (
              <QuarantinedRow key={each.id} {...each} onReleased={reload} />
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function QuarantinedRow(row: Quarantined & { readonly onReleased: () => void }) {
  const { kind, id, title, quarantine, onReleased } = row;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <StatusBadge status="quarantined" bare />
      <div className="min-w-0 flex-1 basis-60">
        <Link
          href={kind === 'run' ? runPath(id) : sessionPath(id)}
          className="block truncate font-medium hover:underline"
        >
          {visibleText(title)}
        </Link>
        <p className="text-small break-words text-ink-soft">
          {visibleText(quarantine.why)} · <RelativeTime at={quarantine.at} />
        </p>
      </div>
      <ReleaseButton {...{ kind, id, how: quarantine.release, onReleased }} />
    </li>
  );
}

function FleetView({ fleet: { fleet, workers, queue } }: { readonly fleet: FleetInfo }) {
  const alive = workers.filter((worker) => worker.alive);
  const sum = (of: (worker: WorkerInfo) => number) => alive.reduce((all, worker) => all + of(worker), 0);
  return (
    <section aria-label="Workers">
      <p className="px-3 py-2 text-body">
        Fleet <strong className="font-semibold">{fleet}</strong>:{' '}
        {workers.length === 0
          ? ''
          : `${plural(alive.length, 'worker')} alive, working on ${sum(({ working }) => working)} of up to ${sum(({ capacity }) => capacity)} sessions and runs. `}
        {queue.waiting === 0
          ? 'Nothing waits for a worker.'
          : `${queue.waiting} waiting for a worker, the oldest for ${formatDuration(queue.lagMs)}.`}
        {queue.laidAside === 0 ? '' : ` ${queue.laidAside} quarantined.`}
      </p>
      {workers.length > 0 ? null : (
        <EmptyState icon="activity" title="No worker has joined.">
          Start one with <code>telltale worker</code> on any machine that reaches the store.
        </EmptyState>
      )}
      <ul aria-label="Workers" className="divide-y divide-line border-t border-line">
        {workers.map((worker) => (
          <li
            key={`${worker.host}/${worker.pid}`}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2"
          >
            <StatusBadge
              status={!worker.alive ? 'failed' : worker.draining === true ? 'waiting' : 'running'}
              label={!worker.alive ? 'Dead' : worker.draining === true ? 'Draining' : 'Alive'}
            />
            <span className="min-w-0 font-medium break-all">
              {worker.host}/{worker.pid}
            </span>
            <span className="text-small text-ink-soft">{worker.role}</span>
            <span className="text-small text-ink-soft">
              working on {worker.working} of up to {worker.capacity}, {worker.holds} assigned
            </span>
            {worker.url === undefined ? null : (
              <span className="min-w-0 font-mono text-small break-all text-ink-soft">{worker.url}</span>
            )}
            <span className="ml-auto text-small text-ink-faint">
              started <RelativeTime at={worker.startedAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
