import type { RegisterCommand } from '../command.ts';
import { type ResumeSessionOptions, resumeSession } from '../run/resume-session.ts';
import { runMode } from '../run/run-mode.ts';
import { addWorkOptions } from '../run/run-options.ts';
import { SESSION_HELP } from '../session/find-session.ts';

const EXAMPLES = `
${SESSION_HELP}

Examples:
  $ telltale resume last
  $ telltale resume 7xk2p --accept-changes     after you have fixed the manifest
`;

export const registerResume: RegisterCommand = (program, context) => {
  addWorkOptions(program.command('resume'))
    .summary('resume a session that was interrupted')
    .description(
      'Resumes a session where its log ends, with the manifest it was started with. Shows only what is new.',
    )
    .argument('<session>', 'which one')
    .option('--accept-changes', 'continue even if the manifest has changed')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (session: string, options: ResumeSessionOptions) => {
        runMode(options, context.io);
        return resumeSession(session, options, context);
      }),
    );
};
