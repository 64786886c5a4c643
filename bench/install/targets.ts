import { atMost, type Verdict } from '../agents/verdict.ts';

/** What it takes to get from an empty folder to a first answer. */
export interface InstallFigures {
  readonly name: string;
  /** Packages in `node_modules`. */
  readonly packages: number;
  /** The size of all files in `node_modules`. */
  readonly megabytes: number;
  /** From the start of `npm install` until the first answer is printed, the median of the rounds. */
  readonly firstAnswerMs: number;
}

const MOST_MB = 60;

export const judgeInstall = (ours: InstallFigures, peer: InstallFigures): readonly Verdict[] => [
  atMost(`at most ${MOST_MB} MB`, ours.megabytes, MOST_MB, 'MB'),
  atMost(`packages: not behind ${peer.name}`, ours.packages / peer.packages, 1, '×'),
  atMost(`megabytes: not behind ${peer.name}`, ours.megabytes / peer.megabytes, 1, '×'),
  atMost(
    `time to the first answer: not behind ${peer.name}`,
    ours.firstAnswerMs / peer.firstAnswerMs,
    1,
    '×',
  ),
];
