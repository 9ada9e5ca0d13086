/** Every meter's name, unit and label in one place, and the HTTP port that shows them. */
package io.kagami.broker.metrics;
