/** What the engine needs of the broker it runs in. */
package io.kagami.mirror.ports;
