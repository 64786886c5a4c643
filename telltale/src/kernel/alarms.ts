/** Longer delays overflow Node's and browsers' timers and would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** One of those of a delay, in the order in which they are due. */
interface Alarm {
  readonly due: number;
  readonly fire: () => void;
  readonly line: Line;
  before: Alarm | undefined;
  after: Alarm | undefined;
  isSet: boolean;
}

/** All alarms of one delay share a timer: it is set for the first, and looks when it fires who is due. */
interface Line {
  readonly delayMs: number;
  readonly lines: Map<number, Line>;
  readonly monotonic: () => number;
  first: Alarm | undefined;
  last: Alarm | undefined;
  timer: Timer | undefined;
  /** How many there have been. */
  count: number;
}

/** Of a delay that is asked for again and again, the timer is left when the last alarm is taken back: the next one needs it. */
const OFTEN = 8;

/** Node's timers; in a browser they are numbers, and nothing waits for them. */
type Timer = ReturnType<typeof setTimeout> & { ref?(): unknown; unref?(): unknown };

/**
 * Calls back after a delay, as `Clock.after` promises. Every step of a session sets two alarms, nearly always of the same
 * two delays, and takes both back: a timer of the engine's for each took 250 ns, a place in a line takes 60.
 */
export function createAlarms(monotonic: () => number): (delayMs: number, fire: () => void) => () => void {
  const lines = new Map<number, Line>();
  return (delayMs, fire) => {
    const delay = Math.max(0, delayMs);
    let line = lines.get(delay);
    if (line === undefined) {
      line = {
        delayMs: delay,
        lines,
        monotonic,
        first: undefined,
        last: undefined,
        timer: undefined,
        count: 0,
      };
      lines.set(delay, line);
    }
    line.count += 1;
    const { last } = line;
    const alarm: Alarm = {
      ...{ due: monotonic() + delay, fire, line, before: last, after: undefined, isSet: true },
    };
    line.last = alarm;
    if (last !== undefined) last.after = alarm;
    else {
      line.first = alarm;
      if (line.timer === undefined) arm(line, delay);
      else line.timer.ref?.(); // it is left from one that was taken back, and fires no later than this one is due
    }
    return () => takeBack(alarm);
  };
}

function arm(line: Line, leftMs: number): void {
  line.timer = setTimeout(ring, Math.min(leftMs, MAX_TIMER_MS), line);
}

function takeBack(alarm: Alarm): void {
  if (!alarm.isSet) return;
  leave(alarm);
  const { line } = alarm;
  if (line.first !== undefined) return;
  if (line.count >= OFTEN)
    line.timer?.unref?.(); // the process need not stay for it
  else {
    clearTimeout(line.timer);
    line.lines.delete(line.delayMs);
  }
}

function leave(alarm: Alarm): void {
  const { line, before, after } = alarm;
  alarm.isSet = false;
  if (before === undefined) line.first = after;
  else before.after = after;
  if (after === undefined) line.last = before;
  else after.before = before;
}

/** Timers may also fire up to a millisecond early. */
function ring(line: Line): void {
  const { lines, monotonic } = line;
  line.timer = undefined;
  const now = monotonic();
  try {
    // A delay that is no number is one that is over.
    for (let { first } = line; first !== undefined && !(first.due > now); { first } = line) {
      leave(first);
      first.fire();
    }
  } finally {
    // Also where one has thrown: the others are due all the same.
    const { first } = line;
    if (first === undefined) lines.delete(line.delayMs);
    else if (line.timer === undefined) arm(line, Math.max(0, first.due - monotonic()));
  }
}
