// What the portal does at its worst while it is published to. Logins stay sound: a refused one waits for a person.
import type { FaultPlan } from '../../../src/embedded-portal/faults/rules.ts';

/** The rules of a seed. */
export const chaosFaults = (seed: number): FaultPlan => ({
  seed,
  rules: [
    { route: 'POST /api/dataset/user/*', fault: 'pass' },
    { route: 'POST /services/session/token', fault: 'pass' },
    { route: '* /api/**', probability: 0.1, fault: 'delay', delay: '5ms', upTo: '400ms' },
    { route: '* /api/**', probability: 0.015, fault: 'drop-request' },
    { route: 'GET /api/**', probability: 0.01, fault: 'drop-reply' },
    { route: 'POST /api/dataset/**', probability: 0.05, fault: 'drop-reply' },
    { route: 'PUT /api/dataset/**', probability: 0.05, fault: 'drop-reply' },
    { route: 'DELETE /api/dataset/**', probability: 0.05, fault: 'drop-reply' },
    { route: '* /api/**', probability: 0.01, fault: 'reset-body' },
    { route: '* /api/**', probability: 0.01, fault: 'truncated-body' },
    { route: '* /api/**', probability: 0.005, fault: 'wrong-type' },
    { route: '* /api/**', probability: 0.005, fault: 'wrong-type', when: 'after' },
    { route: '* /api/dataset/**', probability: 0.004, fault: 'status', status: 401 },
    { route: '* /api/dataset/**', probability: 0.004, fault: 'status', status: 403 },
    { route: '* /api/dataset/**', probability: 0.002, fault: 'status', status: 406 },
    { route: '* /api/dataset/**', probability: 0.01, fault: 'status', status: 429, retryAfter: '1s' },
    { route: '* /api/dataset/**', probability: 0.01, fault: 'status', status: 503 },
    { route: '* /api/dataset/**', probability: 0.015, fault: 'status', status: 502, when: 'after' },
    { route: '* /api/dataset/**', probability: 0.002, fault: 'hang' },
    { route: '* /api/dataset/**', probability: 0.002, fault: 'hang', when: 'after' },
    { route: 'POST /api/dataset/datastore/*/import', probability: 0.03, fault: 'hang' },
    { route: 'GET /api/dataset/datastore/*17', fault: 'paused' },
  ],
});
