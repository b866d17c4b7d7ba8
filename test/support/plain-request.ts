// What a request of a run leaves out.
import { runRequest } from '../../src/model/job.ts';

const { plan, release, remove, onDrift, refresh, createMissing } = runRequest({
  manifestPath: '',
  manifest: '',
  portal: '',
  why: 'command',
});

export const plainRequest = { plan, release, remove, onDrift, refresh, createMissing };
